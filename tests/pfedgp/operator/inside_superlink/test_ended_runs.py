"""What a run that has ended has left under way is removed, on each of the stores that a SuperLink may have."""

import os
import time
from pathlib import Path
from typing import Any

import pytest
from flwr.common.constant import SubStatus
from flwr.server.superlink import linkstate

from pfedgp.operator.inside_superlink import ended_runs
from pfedgp.operator.inside_superlink.ended_runs import EVERY, FORGOTTEN, EndedRuns
from pfedgp_core.files.object_files import offer
from tests.pfedgp.operator.inside_superlink import test_carried_objects as carried
from tests.pfedgp.operator.inside_superlink.test_filed_objects import files_in
from tests.waiting import FakeTime


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    """The clock of the patch, which is taken back after the test."""
    fake: Any = FakeTime()
    fake.time = time.time
    monkeypatch.setattr(ended_runs, "time", fake)
    for kind in ended_runs._KINDS:
        state: Any = getattr(linkstate, kind)
        monkeypatch.setattr(state, "get_tasks", state.get_tasks)
    (tmp_path / "objects").mkdir()
    EndedRuns(tmp_path / "objects").apply()
    made: FakeTime = fake
    return made


def looks(link: carried.SuperLink, clock: FakeTime) -> None:
    clock.now += EVERY
    link.state.get_tasks()


@pytest.mark.slow
def test_a_run_that_has_ended_leaves_nothing_and_one_that_works_keeps_all(clock: FakeTime, database: str) -> None:
    link = carried.SuperLink(database)
    node, runs = link.register(b"a"), [link.start_run(), link.start_run()]
    requests = [carried.request_to(run, node, value) for value, run in enumerate(runs)]
    for run, request in zip(runs, requests, strict=True):
        link.send(run, request, carried.contents_of(request))
    looks(link, clock)
    assert link.state.num_message_ins() == 2
    assert link.state.finish_task(link.task(runs[0]), SubStatus.FAILED, "killed")
    looks(link, clock)
    assert link.state.num_message_ins() == 1
    assert requests[1].object_id in link.store
    if not hasattr(link.store, "session") or requests[0].object_id not in link.store:
        assert len(link.store) == len(carried.contents_of(requests[1]))
    assert link.look(node) == carried.contents_of(requests[1])


@pytest.mark.slow
def test_a_superlink_that_is_started_again_removes_them_too(clock: FakeTime, kept: Path, on_disk: str) -> None:
    link = carried.SuperLink(on_disk)
    run, node = link.start_run(), link.register(b"a")
    request = carried.request_to(run, node)
    link.send(run, request, carried.contents_of(request))
    assert link.state.finish_task(link.task(run), SubStatus.FAILED, "killed")
    again = carried.SuperLink(on_disk)
    looks(again, clock)
    assert again.state.num_message_ins() == 0
    assert len(again.store) == 0
    assert files_in(kept) == []


def test_files_of_a_run_that_the_database_does_not_know_are_removed(
    clock: FakeTime, kept: Path, tmp_path: Path, empty: Path
) -> None:
    """Its operator has deleted the database, to shrink it."""
    import shutil

    first, second = (str(shutil.copy(empty, tmp_path / name)) for name in ("first.db", "second.db"))
    link = carried.SuperLink(first)
    run, node = link.start_run(), link.register(b"a")
    request = carried.request_to(run, node)
    link.send(run, request, carried.contents_of(request))
    looks(carried.SuperLink(second), clock)
    assert files_in(kept) == []


def test_what_was_offered_and_forgotten_is_removed_after_an_hour(
    clock: FakeTime, tmp_path: Path, database: str
) -> None:
    link, folder = carried.SuperLink(database), tmp_path / "objects"
    for name, age in (("a", FORGOTTEN + 60), ("b", FORGOTTEN - 60)):
        offer(folder, name * 64, b"x")
        (folder / f".{name}.partial").write_bytes(b"x")
        (folder / (name * 64)).write_bytes(b"x")
        for path in folder.glob(f"*{name}*"):
            os.utime(path, (time.time() - age,) * 2)
    looks(link, clock)
    assert files_in(folder) == sorted(["a" * 64, "b" * 64, f"{'b' * 64}.offer", ".b.partial"])


def test_a_failure_does_not_reach_who_looks_for_tasks(
    clock: FakeTime, database: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    link = carried.SuperLink(database)

    def broken(*_: Any) -> None:
        raise OSError("no")

    monkeypatch.setattr(ended_runs, "_sweep", broken)
    looks(link, clock)
    assert "is not removed yet (OSError)" in caplog.text


def test_it_looks_once_a_minute(clock: FakeTime, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    link, swept = carried.SuperLink(database), list[Path]()
    monkeypatch.setattr(ended_runs, "_sweep", swept.append)
    link.state.get_tasks()
    first = len(swept)
    clock.now += EVERY - 1
    link.state.get_tasks()
    assert len(swept) == first
    clock.now += 1
    link.state.get_tasks()
    assert len(swept) == first + 1


def test_flower_has_what_it_needs() -> None:
    assert EndedRuns().missing() == ""
