"""Dead tasks are looked for once a second, on Flower's own state in a database."""

from typing import Any

import pytest
from flwr.supercore.corestate.sql_corestate import SqlCoreState

from pfedgp.operator.inside_superlink import rare_cleanup
from pfedgp.operator.inside_superlink.rare_cleanup import EVERY, RareCleanup
from tests.pfedgp.operator.inside_superlink.test_redelivery import SuperLink
from tests.waiting import FakeTime

pytestmark = pytest.mark.slow


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    """The clock of the patch, which is applied to Flower's states for the time of a test."""
    fake = FakeTime()
    monkeypatch.setattr(rare_cleanup, "time", fake)
    former: Any = SqlCoreState._cleanup_expired_task_tokens
    monkeypatch.setattr(SqlCoreState, "_cleanup_expired_task_tokens", former)  # put back in the end
    RareCleanup().apply()
    return fake


def status(link: SuperLink, run: int) -> str:
    found: Any = link.state.get_run_status({run})[run]
    return f"{found.status}:{found.sub_status}"


def test_a_dead_task_is_noticed_within_a_second(
    clock: FakeTime, link: SuperLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    from datetime import timedelta

    from flwr.supercore.corestate import sql_corestate

    run = link.start_run()
    alive = sql_corestate.now
    assert status(link, run) == "running:"
    monkeypatch.setattr(sql_corestate, "now", lambda: alive() + timedelta(hours=1))
    assert status(link, run) == "running:"
    clock.now += EVERY
    assert status(link, run) == "finished:failed"


def test_calls_within_a_second_write_nothing(clock: FakeTime, link: SuperLink) -> None:
    from sqlalchemy import event

    run, written = link.start_run(), list[str]()
    link.state.get_run_status({run})

    def note(connection: Any, cursor: Any, statement: str, *others: Any) -> None:
        written.append(statement.partition(" ")[0])

    event.listen(link.state._engine, "before_cursor_execute", note)
    link.state.get_run_status({run})
    assert written == ["SELECT"]
    clock.now += EVERY
    link.state.get_run_status({run})
    assert written.count("UPDATE") == 2


def test_the_pinned_flower_has_what_it_needs() -> None:
    assert RareCleanup().missing() == ""
