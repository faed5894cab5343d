"""Traffic is summed and written a second later, on Flower's own state in a database; no byte is lost."""

import types
from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest
from flwr.server.superlink.linkstate import SqlLinkState

from pfedgp.operator.inside_superlink import summed_traffic
from pfedgp.operator.inside_superlink.summed_traffic import EVERY, SummedTraffic
from tests.pfedgp.operator.inside_superlink.test_known_keys import queries
from tests.pfedgp.operator.inside_superlink.test_redelivery import SuperLink


class Timers:
    """What waits for its time, which a test lets come."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def timer(self, seconds: float, action: Callable[[], None]) -> Any:
        """Stand for `threading.Timer`."""
        assert seconds == EVERY
        return types.SimpleNamespace(start=lambda: self.waiting.append(action))

    def ring(self) -> None:
        """The time of all of them has come."""
        rung, self.waiting = self.waiting, []
        for action in rung:
            action()


class Program:
    """Ends, as Flower's SuperLink does."""

    ended = False

    def shutdown(self) -> None:
        self.ended = True


@pytest.fixture
def timers(monkeypatch: pytest.MonkeyPatch) -> Timers:
    """The timers of the patch, which is applied to Flower's states for the time of a test."""
    made = Timers()
    monkeypatch.setattr(summed_traffic.threading, "Timer", made.timer)
    for name in ("store_traffic", "get_run_info"):  # put back in the end
        monkeypatch.setattr(SqlLinkState, name, getattr(SqlLinkState, name))
    monkeypatch.setattr(Program, "shutdown", Program.shutdown)
    SummedTraffic(program=Program).apply()
    return made


def count(link: SuperLink, run: int, sent: int, received: int) -> None:
    link.state.store_traffic(run, bytes_sent=sent, bytes_recv=received)


def written(link: SuperLink, run: int) -> tuple[int, int]:
    """What the database says, past the patch."""
    read: Any = SqlLinkState.get_run_info
    (found,) = read.__wrapped__(link.state, run_ids=[run])
    return found.bytes_sent, found.bytes_recv


@pytest.mark.slow
def test_the_bytes_of_a_second_are_written_in_one_statement(timers: Timers, link: SuperLink) -> None:
    run = link.start_run()
    count(link, run, 1, 0)
    asked = queries(link)
    for _ in range(36):
        count(link, run, 5, 7)
    assert asked == []
    timers.ring()
    assert len(asked) == 1
    assert written(link, run) == (181, 252)
    timers.ring()
    assert written(link, run) == (181, 252)


@pytest.mark.slow
def test_whoever_reads_a_run_reads_all_of_its_traffic(timers: Timers, link: SuperLink) -> None:
    runs = [link.start_run(), link.start_run()]
    for run in runs:
        count(link, run, 1, 2)
        count(link, run, 3, 4)
    assert [(each.bytes_sent, each.bytes_recv) for each in link.state.get_run_info(run_ids=runs)] == [(4, 6)] * 2
    timers.ring()
    assert [written(link, run) for run in runs] == [(4, 6)] * 2


@pytest.mark.slow
def test_a_superlink_that_ends_writes_what_is_left_and_what_still_comes(timers: Timers, link: SuperLink) -> None:
    run, program = link.start_run(), Program()
    count(link, run, 1, 0)
    count(link, run, 1, 0)
    program.shutdown()
    assert program.ended
    assert written(link, run) == (2, 0)
    count(link, run, 1, 1)
    assert written(link, run) == (3, 1)


def test_what_cannot_be_written_is_written_later(
    timers: Timers, link: SuperLink, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run = link.start_run()
    count(link, run, 1, 1)
    count(link, run, 2, 2)
    with monkeypatch.context() as failing:
        failing.setattr(link.state, "session", None)
        timers.ring()
        timers.ring()
    assert len([line for line in caplog.messages if "not written yet (TypeError)" in line]) == 1
    count(link, run, 4, 4)
    timers.ring()
    assert written(link, run) == (7, 7)


@pytest.mark.slow
def test_where_no_thread_is_to_be_had_the_next_call_tries_again(
    timers: Timers, link: SuperLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = link.start_run()
    count(link, run, 1, 1)

    def refused() -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as full:
        full.setattr(summed_traffic.threading, "Timer", lambda *_: types.SimpleNamespace(start=refused))
        count(link, run, 2, 2)
    count(link, run, 4, 4)
    timers.ring()
    assert written(link, run) == (7, 7)


@pytest.mark.slow
def test_threads_lose_nothing_while_it_is_written(timers: Timers, link: SuperLink) -> None:
    run = link.start_run()
    count(link, run, 1, 0)

    def work() -> None:
        for _ in range(300):
            count(link, run, 1, 2)

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        timers.ring()
    timers.ring()
    assert written(link, run) == (1201, 2400)


@pytest.mark.parametrize(("sent", "received"), [(-1, 2), (2, -1), (0, 0)])
def test_a_count_that_flower_refuses_is_refused(timers: Timers, link: SuperLink, sent: int, received: int) -> None:
    run = link.start_run()
    for _ in range(2):
        with pytest.raises(ValueError, match="bytes_sent"):
            count(link, run, sent, received)
        count(link, run, 1, 1)
    timers.ring()
    assert written(link, run) == (2, 2)


def test_an_unknown_run_is_refused(timers: Timers, link: SuperLink) -> None:
    with pytest.raises(ValueError, match="not found"):
        count(link, 5, 1, 1)


def test_the_pinned_flower_has_what_it_needs() -> None:
    assert SummedTraffic().missing() == ""
