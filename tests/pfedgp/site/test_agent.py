"""The agent: the time that it gives a message, and replies that the SuperNode has dropped."""

import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.supercore.inflatable import inflatable_utils

from pfedgp.site import agent
from pfedgp.site.agent import time_left
from pfedgp.site.audit_trail import AuditTrail
from pfedgp.site.flower_waits import Waits
from pfedgp.site.gate import SiteGate
from pfedgp_core.wire.names import CONFIG, ROUND, SPLIT

if TYPE_CHECKING:
    from pfedgp.site.worker_process import WorkerProcess


def test_the_time_limit_is_the_servers_whatever_the_clocks_say() -> None:
    def left(created_at: float, ttl: float) -> float:
        return time_left(SimpleNamespace(metadata=SimpleNamespace(created_at=created_at, ttl=ttl)))  # type: ignore[arg-type]

    now = time.time()
    assert left(now, 60.0) == 60.0
    assert left(now + 200, 60.0) == 60.0  # the site's clock is behind
    assert left(now - 50, 60.0) == pytest.approx(15.0, abs=0.5)  # it lay at the server
    assert left(now - 500, 60.0) == 1.0


def test_a_worker_that_nobody_asks_ends_and_is_there_for_the_next_message(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told: list[str] = []
    worker = SimpleNamespace(pid=7, ensured=0, stopped=0)

    def ensure() -> bool:
        worker.ensured += 1
        return False

    def stop() -> None:
        worker.pid, worker.stopped = None, worker.stopped + 1

    worker.ensure, worker.stop = ensure, stop
    served = agent.Agent(
        *("127.0.0.1:1", b"x" * 32, cast("WorkerProcess", worker), Waits(), "app:1"),
        lambda kind, **_: told.append(kind),
        SiteGate(tmp_path),
        AuditTrail(tmp_path),
    )
    served._rest()
    assert (worker.stopped, told) == (0, [])
    monkeypatch.setattr(agent, "REST_UNASKED", -1.0)
    for _ in range(2):
        served._rest()
    assert (worker.stopped, told) == (1, ["resting"])
    assert served._restart() == ""
    assert worker.ensured == 0
    served._served = True  # a message came, whose worker lives for longer
    served._resting = False
    served._rest()
    assert (worker.stopped, served._restart(), worker.ensured) == (1, "", 1)


@pytest.mark.parametrize("dropped", [True, False])
def test_a_reply_that_the_supernode_has_dropped_does_not_end_the_site(
    monkeypatch: pytest.MonkeyPatch, dropped: bool, tmp_path: Path
) -> None:
    waits, told = Waits(), list[dict[str, Any]]()
    message = Message(RecordDict({CONFIG: ConfigRecord({ROUND: 5, SPLIT: "test"})}), 1, "train")

    def push(*_: Any) -> None:
        if dropped:
            waits.sleep(3)  # the loop's, once it is done with the reply
        raise inflatable_utils.ObjectPushError("object", 1, "session")

    run = SimpleNamespace(run_id=7, fab_id="app", fab_version="1")
    context = Context(7, 1, {}, RecordDict(), {})
    monkeypatch.setattr(agent, "pull_task_input", lambda client: (message, context, run, None))
    monkeypatch.setattr(agent, "push_message", push)
    monkeypatch.setattr(agent, "push_task_output", lambda *_: None)
    monkeypatch.setattr(agent, "DROPPED", 0.05)
    worker = SimpleNamespace(call=lambda given, *_: (Message(RecordDict(), reply_to=given[0]), context))
    served = agent.Agent(
        *("127.0.0.1:1", b"x" * 32, cast("WorkerProcess", worker), waits, "app:1"),
        lambda kind, **fields: told.append(fields),
        SiteGate(tmp_path),
        AuditTrail(tmp_path),
    )
    if dropped:
        served._serve(cast("Any", None))
        assert (told[0]["taken"], told[0]["split"]) == (False, "test")
    else:
        with pytest.raises(inflatable_utils.ObjectPushError):
            served._serve(cast("Any", None))
