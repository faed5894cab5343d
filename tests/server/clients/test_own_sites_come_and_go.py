"""Sites with data of their own that come late, fall silent, leave, return, or are no longer what they were."""

import csv
import logging
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from flwr.app import Message

from pfedgp_core.errors import RunFailedError
from pfedgp_core.wire.names import CONFIG
from server.clients import greetings, waiting
from server.clients.roster import Roster
from server.clients.waiting import wait_for_clients
from server.flower import messages
from tests.fakegrid import Tamper
from tests.federation_run import start
from tests.own_sites import OWN, OwnGrid, archive, rows_of, three_image_sites
from tests.waiting import FakeTime

if TYPE_CHECKING:
    from collections.abc import Callable


class Timeline(OwnGrid):
    """Does something before the train requests of given rounds."""

    def __init__(self, sites: dict[str, Path], tamper: Tamper | None = None) -> None:
        super().__init__(sites, tamper)
        self.plan: dict[int, Callable[[], object]] = {}

    def push_messages(self, messages):
        messages = list(messages)
        if messages and messages[0].metadata.message_type == "train":
            self.plan.get(messages[0].content[CONFIG]["round"], lambda: None)()
        return super().push_messages(messages)


@pytest.mark.slow
def test_late_joiners_map_to_the_frozen_list_or_are_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    sites = three_image_sites(tmp_path)
    grid = Timeline(sites)

    def join() -> None:
        grid.add_site("late", archive(tmp_path / "late.npz", rows_of(1, 6)))
        grid.add_site("alien", archive(tmp_path / "alien.npz", rows_of(1, 8)))

    grid.plan = {1: join}
    caplog.set_level(logging.INFO, "pfedgp")
    run = start(grid, OWN.replace(rounds=3, clients_per_round=4), tmp_path / "run")
    assert [record["ok"] for record in run.records] == [3, 4, 4]
    assert run.summary["clients"] == 4
    assert "late joins" in caplog.text
    assert "alien does not fit: The class 'd8'" in caplog.text
    (row,) = [row for row in csv.DictReader((tmp_path / "run" / "clients.csv").open()) if row["name"] == "late"]
    assert row["classes"] == "d1;d6"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    """The server's clock."""
    fake = FakeTime()
    for module in (greetings, messages, waiting):
        monkeypatch.setattr(module, "time", fake)
    return fake


@pytest.mark.slow
def test_a_silent_site_costs_one_timeout_and_comes_back(
    tmp_path: Path, clock: FakeTime, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("server.clients.answering.SILENT_GREETING", 0.05)
    caplog.set_level(logging.INFO, "pfedgp")
    stopped = {"now": False}

    def swallow(request: Message, index: int, reply: Message) -> Message | None:
        return None if stopped["now"] and index == 1 else reply

    grid = Timeline(three_image_sites(tmp_path), swallow)
    # Greetings live at least 0.05 s, and GRACE beyond, so they are short here.
    monkeypatch.setattr("server.clients.greetings.GRACE", 0.0)
    grid.plan = {
        2: lambda: stopped.update(now=True),
        5: lambda: stopped.update(now=False),
        6: lambda: clock.sleep(1.0),  # longer than its last greeting lives
    }
    run = start(grid, OWN.replace(rounds=7, evaluate_every=7, round_timeout=5.0), tmp_path / "run")
    sampled = [record["sampled"] for record in run.records]
    assert sampled[1] == ["ward-a", "ward-b", "ward-c"]
    assert run.records[1]["failed"].keys() == {"ward-b"}
    assert sampled[2] == sampled[3] == ["ward-a", "ward-c"]
    assert "ward-b" in sampled[6]
    assert "ward-b is silent" in caplog.text
    assert "ward-b is back" in caplog.text


@pytest.mark.parametrize("lost", [2, 10**6])
def test_the_end_of_a_run_waits_a_while_for_a_site_that_has_just_come_back(
    lost: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.clients.answering.SILENT_GREETING", 0.05)
    monkeypatch.setattr("server.clients.greetings.GRACE", 0.0)
    monkeypatch.setattr(waiting, "RETURN_PATIENCE", 20.0 if lost == 2 else 0.3)
    left = {"to lose": 0}

    def lose(request: Message, index: int, reply: Message) -> Message | None:
        left["to lose"] -= index == 1
        return None if index == 1 and left["to lose"] >= 0 else reply

    grid, roster = OwnGrid(three_image_sites(tmp_path), lose), Roster(OWN)
    wait_for_clients(roster, grid)
    waiting.wait_for_returning(roster, grid)
    node = roster.clients["ward-b"].node_id
    context = grid.contexts.pop(node)
    waiting.wait_for_returning(roster, grid)  # nobody who is away is waited for
    assert roster.missing() == ["ward-b"]
    assert not roster.returning()
    grid.contexts[node], left["to lose"] = context, lost
    waiting.wait_for_returning(roster, grid)
    assert (roster.missing(), roster.returning()) == (([], []) if lost == 2 else (["ward-b"], ["ward-b"]))


def test_failures_in_a_row_are_named_once(caplog: pytest.LogCaptureFixture) -> None:
    roster = Roster(OWN)
    for _ in range(2):
        roster.answering.failed("ward-b", "DataError", anew=True)
    assert "ward-b" not in caplog.text
    roster.answering.succeeded("ward-b")
    for _ in range(5):
        roster.answering.failed("ward-b", "DataError", anew=True)
    assert caplog.text.count("ward-b failed 3 times in a row (last: DataError)") == 1
    assert roster.answering.failures("ward-b") == 5


def test_a_checkpoint_brings_back_the_federation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(waiting, "RESUME_PATIENCE", 0.3)
    caplog.set_level(logging.INFO, "pfedgp")
    sites = three_image_sites(tmp_path)
    before = Roster(OWN)
    wait_for_clients(before, OwnGrid(sites))
    before.clients["ward-a"].trained_in.append(4)
    state = before.to_state()
    del sites["ward-c"]
    after = Roster(OWN)
    after.adopt_state(state)
    assert after.spec == before.spec
    assert after.missing() == ["ward-a", "ward-b", "ward-c"]
    wait_for_clients(after, OwnGrid(sites))
    assert [client.name for client in after.online()] == ["ward-a", "ward-b"]
    assert after.clients["ward-a"].trained_in == [4]
    assert [c.hello for c in after.all] == [c.hello for c in before.all]
    assert "going on without ward-c" in caplog.text


def test_too_few_sites_end_the_wait_with_their_names(tmp_path: Path) -> None:
    grid = OwnGrid(three_image_sites(tmp_path))
    roster = Roster(OWN.replace(wait_timeout=0.4))
    wait_for_clients(roster, grid)
    grid.offline = {0, 1, 2}
    with pytest.raises(RunFailedError, match=r"0 of 1 clients are ready after 0.4 s.*missing: ward-a, ward-b, ward-c"):
        wait_for_clients(roster, grid)


def test_the_log_says_how_long_a_run_waits_and_how_to_start_without_the_missing_sites(
    tmp_path: Path, clock: FakeTime, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "pfedgp")
    grid, settings = OwnGrid(three_image_sites(tmp_path)), OWN.replace(wait_timeout=150.0, min_clients=5)
    with pytest.raises(RunFailedError, match="3 of 5 clients are ready"):
        wait_for_clients(Roster(settings), grid)
    assert (
        "(ward-a, ward-b, ward-c); the run ends in 2 min unless 2 more can take part; to start with 3," in caplog.text
    )
    assert "--set min-clients=3" in caplog.text
    wait_for_clients(Roster(settings.replace(min_clients=3)), grid)  # so it does

    caplog.clear()
    with pytest.raises(RunFailedError, match="3 of 5 clients are ready"):
        wait_for_clients(Roster(settings.replace(clients_per_round=4, min_results=4)), grid)
    assert "unless 2 more" in caplog.text
    assert "--set" not in caplog.text  # no round would have min-results replies


def test_a_site_whose_data_changed_presents_itself_anew(tmp_path: Path) -> None:
    sites = three_image_sites(tmp_path)
    grid, roster = OwnGrid(sites), Roster(OWN)
    wait_for_clients(roster, grid)
    before = roster.clients["ward-b"].hello
    archive(sites["ward-b"], rows_of(2, 3, 4, 5, of=2, part=1))
    roster.answering.failed("ward-b", "DataError", anew=True)
    wait_for_clients(roster, grid)
    assert roster.clients["ward-b"].hello.n_train > before.n_train
    assert "ward-b" in [client.name for client in roster.online()]


def test_two_sites_of_one_name_are_told_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    grid = OwnGrid({"ward-b": archive(tmp_path / "b.npz", rows_of(0, 1))})
    grid.add_site("ward-b", tmp_path / "b.npz")
    roster = Roster(OWN.replace(min_clients=1, clients_per_round=1))
    wait_for_clients(roster, grid)
    assert len(roster.all) == 1
    assert "Two connected clients are named 'ward-b'" in caplog.text
