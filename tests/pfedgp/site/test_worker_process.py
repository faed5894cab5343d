"""The worker from outside: it lives on, is replaced where it dies or hangs, and says why it cannot start."""

import os
from pathlib import Path
from typing import Any

import pytest
from flwr.app import ConfigRecord, Context, Message, RecordDict

from pfedgp.site.worker_process import WorkerDied, WorkerLate, WorkerProcess, WorkerUnusable

APPS = """
import os, signal, time
from flwr.app import Message, MetricRecord, RecordDict

def app(message, context):
    what = context.node_config["do"]
    if what == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "hang":
        time.sleep(600)
    count = int(context.state["count"]["n"]) if "count" in context.state else 0
    context.state["count"] = MetricRecord({"n": count + 1, "pid": os.getpid()})
    return Message(RecordDict(), reply_to=message)
"""


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "pfedgp_test_apps.py").write_text(APPS)
    (tmp_path / "pfedgp_test_broken.py").write_text("import no_such_module_of_a_test")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]))
    process = WorkerProcess("pfedgp_test_apps:app")
    yield process
    process.stop()


def request(do: str, context: Context | None = None) -> tuple[Message, Context, tuple[int, int, int]]:
    """A request to the app above."""
    content = RecordDict({"config": ConfigRecord({"bytes": b"x" * 100_000})})
    message = Message(content, dst_node_id=2, message_type="query")
    message.metadata.__dict__["_message_id"] = "m"
    return message, context or Context(1, 2, {"do": do}, RecordDict(), {}), (1, 1, 2)


def rss(pid: int) -> int:
    """Resident memory of a process in kB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def test_a_worker_lives_on_keeps_the_context_and_does_not_grow(worker: WorkerProcess) -> None:
    context = None
    for count in range(1, 201):
        reply, context = worker.call(request("answer", context), 60.0)
        assert not reply.has_error()
        assert context.state["count"]["n"] == count
        assert context.state["count"]["pid"] == worker.pid
        if count == 50:
            before = rss(worker.pid)
    assert rss(worker.pid) < before + 10_000


@pytest.mark.slow
def test_a_worker_that_dies_or_hangs_is_replaced(worker: WorkerProcess) -> None:
    worker.ensure()
    first, beats = worker.pid, []
    with pytest.raises(WorkerDied, match="signal 9"):
        worker.call(request("die"), 60.0)
    with pytest.raises(WorkerLate, match="ended after 3 s"):
        worker.call(request("hang"), 3.0, lambda: beats.append(1), every=0.2)
    assert beats
    reply, _ = worker.call(request("answer"), 60.0)
    assert not reply.has_error()
    assert worker.pid != first
    last = worker.pid
    worker.stop()
    assert worker.pid is None
    assert last is not None
    assert not Path(f"/proc/{last}").exists()


def test_a_worker_whose_app_cannot_be_imported_says_why(worker: WorkerProcess) -> None:
    broken = WorkerProcess("pfedgp_test_broken:app")
    with pytest.raises(WorkerUnusable, match=r"cannot load pfedgp_test_broken:app \(ModuleNotFoundError: No module"):
        broken.ensure()
    broken.stop()
