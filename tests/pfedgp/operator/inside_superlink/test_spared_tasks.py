"""A SuperLink that comes back late waits for the server apps that were there before, on Flower's own database."""

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flwr.common.constant import NOOP_FLWR_AID, SubStatus
from flwr.server.superlink.linkstate import SqlLinkState
from flwr.supercore import date
from flwr.supercore.constant import NOOP_FEDERATION_ID, TaskType
from flwr.supercore.corestate import sql_corestate

from pfedgp.operator.inside_superlink.spared_tasks import SPARED, SparedTasks
from tests.pfedgp.operator.inside_superlink.test_redelivery import SuperLink

pytestmark = pytest.mark.slow

Later = Callable[[float], None]


@pytest.fixture
def database(tmp_path: Path, empty: Path) -> str:
    return str(shutil.copy(empty, tmp_path / "state.db"))


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Later:
    """Lets seconds pass for Flower; the patch is applied to its states for the time of a test."""
    monkeypatch.setattr(SqlLinkState, "initialize", SqlLinkState.initialize)  # put back in the end
    SparedTasks().apply()
    time = [date.now()]
    for module in (date, sql_corestate):
        monkeypatch.setattr(module, "now", lambda: time[0])

    def pass_by(seconds: float) -> None:
        time[0] += timedelta(seconds=seconds)

    return pass_by


def token_of(link: SuperLink, run: int) -> str:
    from flwr.supercore.state.schema.corestate_models import Task
    from flwr.supercore.utils import uint64_to_int64
    from sqlalchemy import select

    with link.state.session() as session:
        return str(session.scalar(select(Task.token).where(Task.run_id == uint64_to_int64(run))))


def status(link: SuperLink, run: int) -> str:
    found: Any = link.state.get_run_status({run})[run]
    return f"{found.status}:{found.sub_status}"


def test_a_server_app_renews_its_token_at_a_superlink_that_was_away_for_minutes(database: str, later: Later) -> None:
    link = SuperLink(database)
    run = link.start_run()
    token = token_of(link, run)
    later(300.0)
    back = SuperLink(database)
    assert status(back, run) == "running:"
    task = back.state.get_task_by_token(token)
    assert task is not None
    later(SPARED - 1)
    assert back.state.acknowledge_task_heartbeat(task.task_id)
    later(50.0)
    assert status(back, run) == "running:"


def test_a_server_app_that_is_gone_too_is_noticed(database: str, later: Later) -> None:
    run = SuperLink(database).start_run()
    later(300.0)
    back = SuperLink(database)
    later(SPARED + 1)
    assert status(back, run) == "finished:failed"


def test_a_run_that_has_ended_stays_so_and_a_token_that_is_good_for_longer_too(database: str, later: Later) -> None:
    link = SuperLink(database)
    ended, claimed = link.start_run(), link.start_run()
    assert link.state.finish_task(link.task(ended), SubStatus.COMPLETED, "")
    token = token_of(link, claimed)
    back = SuperLink(database)
    later(-60.0)
    again = SuperLink(database)
    later(60.0 + SPARED - 1)
    assert again.state.get_task_by_token(token) is not None
    assert [status(each, ended) for each in (back, again)] == ["finished:completed"] * 2


def test_a_run_that_nobody_works_at_yet_is_handed_out_again(database: str, later: Later) -> None:
    link, app = SuperLink(database), ("a/b", "1", "hash", {})
    run = link.state.create_run(*app, NOOP_FEDERATION_ID, None, NOOP_FLWR_AID, TaskType.SERVER_APP)
    assert link.state.claim_task(link.task(run))
    later(300.0)
    back = SuperLink(database)
    assert status(back, run) == "pending:"
    assert back.state.claim_task(back.task(run))


def test_a_database_that_cannot_be_written_is_opened_as_ever(
    database: str, later: Later, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from flwr.supercore.state.schema import corestate_models

    run = SuperLink(database).start_run()
    with monkeypatch.context() as failing:
        failing.setattr(corestate_models, "Task", None)
        back = SuperLink(database)
    assert status(back, run) == "running:"
    assert "are not waited for (AttributeError)" in caplog.text


def test_the_pinned_flower_has_what_it_needs() -> None:
    assert SparedTasks().missing() == ""
