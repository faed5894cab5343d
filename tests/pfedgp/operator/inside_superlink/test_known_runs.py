"""A run that works is asked for once a second, and one that has ended each time, on Flower's state in a database."""

import types
from collections.abc import Callable
from typing import Any

import pytest
from flwr.common.constant import SubStatus
from flwr.proto.message_pb2 import PullObjectRequest, PushObjectRequest
from flwr.server.superlink.fleet.message_handler import message_handler
from flwr.server.superlink.linkstate import SqlLinkState
from flwr.supercore.run import InvalidRunStatusException

from pfedgp.operator.inside_superlink import kept_answers
from pfedgp.operator.inside_superlink.known_runs import KEPT, KnownRuns
from tests.pfedgp.operator.inside_superlink.test_known_keys import queries
from tests.pfedgp.operator.inside_superlink.test_redelivery import SuperLink
from tests.waiting import FakeTime


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    """The clock of the patch, which is applied to Flower's answers and states for the time of a test."""
    fake = FakeTime()
    monkeypatch.setattr(kept_answers, "time", fake)
    for module, name in (
        (message_handler, "push_object"),
        (message_handler, "pull_object"),
        (SqlLinkState, "finish_task"),
    ):  # put back in the end
        monkeypatch.setattr(module, name, getattr(module, name))
    KnownRuns().apply()
    return fake


def pull(link: SuperLink, run: int) -> bool:
    """Whether there is that object; never."""
    request = PullObjectRequest(run_id=run, object_id="0" * 64)
    return message_handler.pull_object(request=request, state=link.state).object_found


def push(link: SuperLink, run: int) -> bool:
    request = PushObjectRequest(run_id=run, object_id="0" * 64, session_id="none", object_content=b"a")
    return message_handler.push_object(request=request, state=link.state).stored


def ends(link: SuperLink, run: int) -> bool:
    done = link.state.finish_task(link.task(run), SubStatus.COMPLETED, "")
    assert isinstance(done, bool)
    return done


MOVES = pytest.mark.parametrize("move", [pull, push])


def of_runs(asked: list[str]) -> list[str]:
    return [statement for statement in asked if "JOIN task" in statement]


@pytest.mark.slow
@MOVES
def test_whether_a_run_works_is_asked_once_a_second(
    clock: FakeTime, link: SuperLink, move: Callable[[SuperLink, int], bool]
) -> None:
    run = link.start_run()
    asked = queries(link)
    assert [move(link, run) for _ in range(9)] == [False] * 9
    assert len(of_runs(asked)) == 1
    clock.now += KEPT
    assert not move(link, run)
    assert len(of_runs(asked)) == 2


@pytest.mark.slow
@MOVES
def test_a_run_that_ends_moves_no_object_from_then_on(
    clock: FakeTime, link: SuperLink, move: Callable[[SuperLink, int], bool]
) -> None:
    run, other = link.start_run(), link.start_run()
    assert not move(link, run)
    assert not move(link, other)
    assert ends(link, run)
    with pytest.raises(InvalidRunStatusException, match="finished"):
        move(link, run)
    assert not move(link, other)


def test_a_status_that_an_end_overtakes_is_not_kept(
    clock: FakeTime, link: SuperLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, look = link.start_run(), link.state.get_run_status

    def overtaken(run_ids: set[int]) -> dict[int, Any]:
        found = look(run_ids)
        monkeypatch.setattr(link.state, "get_run_status", look)
        assert ends(link, run)
        return found

    monkeypatch.setattr(link.state, "get_run_status", overtaken)
    assert not pull(link, run)
    with pytest.raises(InvalidRunStatusException, match="finished"):
        pull(link, run)


def test_a_run_that_another_process_ends_moves_no_object_a_second_later(clock: FakeTime, link: SuperLink) -> None:
    run = link.start_run()
    assert not pull(link, run)
    aside: Any = SqlLinkState.finish_task
    assert aside.__wrapped__(link.state, link.task(run), SubStatus.FAILED, "")
    assert not pull(link, run)
    clock.now += KEPT
    with pytest.raises(InvalidRunStatusException, match="finished"):
        pull(link, run)


def test_every_call_for_a_run_that_has_ended_cleans_up(
    clock: FakeTime, link: SuperLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleaned = list[int]()
    run = link.start_run()
    monkeypatch.setattr(link.state, "cleanup_run", cleaned.append)
    assert not pull(link, run)
    assert ends(link, run)
    for _ in range(2):
        with pytest.raises(InvalidRunStatusException):
            pull(link, run)
    assert cleaned == [run, run]


def test_confirmations_ask_each_time(clock: FakeTime, link: SuperLink) -> None:
    run = link.start_run()
    asked = queries(link)
    assert not pull(link, run)
    for _ in range(2):
        link.confirm(run, "0" * 64)
    assert len(of_runs(asked)) == 3


def test_a_state_in_memory_is_asked_as_ever(clock: FakeTime) -> None:
    asked = list[set[int]]()

    def get_run_status(run_ids: set[int]) -> dict[int, Any]:
        asked.append(run_ids)
        return {7: types.SimpleNamespace(status="running")}

    state: Any = types.SimpleNamespace(get_run_status=get_run_status, get_object=lambda *_: None)
    for _ in range(2):
        message_handler.pull_object(request=PullObjectRequest(run_id=7, object_id="0" * 64), state=state)
    assert asked == [{7}] * 2


def test_the_pinned_flower_has_what_it_needs() -> None:
    assert KnownRuns().missing() == ""
