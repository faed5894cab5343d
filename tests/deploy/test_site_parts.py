"""The parts of ``pfedgp client`` one by one: what is expected of Flower, waits, frames, worker, plan, state folder."""

import json
import logging
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import flwr.supernode.start_client_internal as supernode_loop
import pytest
from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.common.config import get_metadata_from_config, parse_config_args
from flwr.proto.message_pb2 import ObjectTree
from flwr.supercore.inflatable import inflatable_utils
from flwr.supernode.runtime import run_clientapp

from client import messages
from pfedgp.cli import main
from pfedgp.site import agent, flower_log, flower_waits, frames, supervisor
from pfedgp.site.agent import time_left
from pfedgp.site.flower_waits import LINGER, LONG, SHORT, Waits, fast_rounds_unsupported, shorten_waits
from pfedgp.site.plan import APP, APP_ID, SitePlan
from pfedgp.site.state_folder import StateFolder
from pfedgp.site.supernode_process import Heard
from pfedgp.site.supervisor import Supervisor
from pfedgp.site.worker import answer
from pfedgp.site.worker_process import WorkerDied, WorkerLate, WorkerProcess, WorkerUnusable
from pfedgp_core.errors import ConfigError, RunFailedError
from pfedgp_core.wire.names import CONFIG, ROUND, SPLIT
from server.flower import object_retry

# --- what the fast path needs of the installed Flower -----------------------------------------------------------------


def test_the_pinned_flower_is_one_that_waits_can_be_shortened_in() -> None:
    assert fast_rounds_unsupported() == ""


def test_log_lines_that_are_read_are_those_that_flower_writes() -> None:
    from flwr.supercore.retry import grpc_retry

    loop, retry = (Path(module.__file__ or "").read_text() for module in (supernode_loop, grpc_retry))
    assert '"SuperNode ID: %s"' in loop
    assert '"Connection attempt failed, retrying in %.2f seconds"' in retry
    assert '"Connection successful after %.2f seconds and %s tries."' in retry
    assert flower_log.connected_as(flower_log.plain("\x1b[92mINFO \x1b[0m:      SuperNode ID: 123\n")) == "123"
    assert flower_log.is_lost("WARNING :   Connection attempt failed, retrying in 1.00 seconds")
    assert flower_log.is_recovered("INFO :      Connection successful after 3.00 seconds and 2 tries.")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda m: m.setattr("flwr.__version__", "1.40.0"), "Flower 1.40.0 is installed"),
        (lambda m: m.delattr(supernode_loop, "time"), "waits in another way"),
        (lambda m: m.setitem(sys.modules, "pfedgp.site.agent", None), "is missing"),
    ],
)
def test_another_flower_is_left_alone(monkeypatch: pytest.MonkeyPatch, change: Any, reason: str) -> None:
    change(monkeypatch)
    assert reason in fast_rounds_unsupported()


def test_objects_on_their_way_are_asked_for_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    functions = (inflatable_utils.pull_objects, inflatable_utils.pull_and_inflate_object_from_tree)
    for function in functions:
        monkeypatch.setattr(function, "__kwdefaults__", function.__kwdefaults__ | {"initial_backoff": 1})
    assert object_retry.shorten_object_retry()
    assert [function.__kwdefaults__["initial_backoff"] for function in functions] == [0.05, 0.05]
    tries = []

    def pull(object_id: str) -> bytes:
        tries.append(time.monotonic())
        if len(tries) < 3:
            raise inflatable_utils.ObjectUnavailableError(object_id)
        return b"content"

    assert inflatable_utils.pull_objects(["a"], pull) == {"a": b"content"}
    assert tries[-1] - tries[0] < 0.9  # Flower's own first wait alone is 0.8 s or more


def test_objects_that_never_come_do_not_hold_a_site_up(monkeypatch: pytest.MonkeyPatch) -> None:
    for function in (inflatable_utils.pull_objects, inflatable_utils.pull_and_inflate_object_from_tree):
        monkeypatch.setattr(function, "__kwdefaults__", dict(function.__kwdefaults__))
    for name in ("time", "_pull_and_store_message"):
        monkeypatch.setattr(supernode_loop, name, getattr(supernode_loop, name))
    monkeypatch.setattr(flower_waits, "CONTENT", 0.3)
    monkeypatch.setattr(flower_waits, "STORED", 0.2)
    shorten_waits()

    def missing(object_id: str) -> bytes:
        raise inflatable_utils.ObjectUnavailableError(object_id)

    began = time.monotonic()
    with pytest.raises(inflatable_utils.ObjectPullError):  # the loop, from the SuperLink
        supernode_loop.pull_objects(["a"], missing)
    with pytest.raises(inflatable_utils.ObjectPullError):  # the agent, from the loop
        run_clientapp.pull_and_inflate_object_from_tree(ObjectTree(object_id="a"), missing, lambda object_id: None)
    assert time.monotonic() - began < 20.0  # Flower's own limit is two hours


def test_without_the_parameter_flowers_own_wait_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflatable_utils, "pull_objects", lambda ids, pull: {})
    monkeypatch.delattr(inflatable_utils, "pull_and_inflate_object_from_tree")
    assert not object_retry.shorten_object_retry()


# --- waits ------------------------------------------------------------------------------------------------------------


def test_a_site_looks_often_while_messages_come_and_seldom_else(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, slept = SimpleNamespace(now=1000.0), []
    monkeypatch.setattr(
        flower_waits, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=slept.append, time=lambda: 5.0)
    )
    waits = Waits()
    assert not waits.connected.is_set()
    waits.sleep(3)
    assert waits.connected.is_set() and not waits.task.is_set()
    waits.reply.set()
    waits.sleep(0.5)  # the loop waits for a reply: a message is there
    assert waits.task.is_set() and not waits.reply.is_set()
    waits.sleep(3)
    clock.now += LINGER - 1
    waits.sleep(3)
    clock.now += 2
    waits.sleep(3)
    assert slept == [LONG, SHORT, SHORT, LONG]
    assert waits.time() == 5.0  # the rest of the module is as it was


def test_the_loop_goes_on_as_soon_as_the_reply_is_there() -> None:
    waits = Waits()
    threading.Timer(0.01, waits.reply.set).start()
    while not waits.task.is_set():
        waits.sleep(0.5)


def test_the_time_limit_is_the_servers_whatever_the_clocks_say() -> None:
    def left(created_at: float, ttl: float) -> float:
        return time_left(SimpleNamespace(metadata=SimpleNamespace(created_at=created_at, ttl=ttl)))  # type: ignore[arg-type]

    now = time.time()
    assert left(now, 60.0) == 60.0
    assert left(now + 200, 60.0) == 60.0  # the site's clock is behind
    assert left(now - 50, 60.0) == pytest.approx(15.0, abs=0.5)  # it lay at the server
    assert left(now - 500, 60.0) == 1.0


# --- frames and worker ------------------------------------------------------------------------------------------------


def test_objects_of_any_size_pass_a_socket() -> None:
    left, right = socket.socketpair()
    values = [None, {"a": (1, "b")}, b"x" * 3_000_000]
    with left, right:
        writer = threading.Thread(target=lambda: [frames.send(left, value) for value in values])
        writer.start()
        assert [frames.receive(right) for _ in values] == values
        writer.join()


@pytest.mark.parametrize("cut", [0, 3, 8, 20])
def test_an_object_that_is_cut_off_is_no_object(cut: int) -> None:
    left, right = socket.socketpair()
    with right:
        with left:
            sent, received = socket.socketpair()
            with sent, received:
                frames.send(sent, list(range(100)))
                whole = received.recv(1 << 16)
            left.sendall(whole[:cut])
        with pytest.raises(EOFError):
            frames.receive(right)


def test_what_a_handler_raises_leaves_the_site_as_a_type() -> None:
    app = ClientApp()

    @app.query()
    def query(message: Message, context: Context) -> Message:
        raise RuntimeError("patient 17")

    context = Context(1, 2, {}, RecordDict(), {})
    message = Message(RecordDict({"config": ConfigRecord({})}), dst_node_id=2, message_type="query")
    reply, kept = answer(app, message, context, (1, 1, 2))
    assert kept is context
    assert (reply.error.code, reply.error.reason) == (2, "RuntimeError")


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
        assert not reply.has_error() and context.state["count"]["n"] == count
        assert context.state["count"]["pid"] == worker.pid
        if count == 50:
            before = rss(worker.pid)
    assert rss(worker.pid) < before + 10_000


def test_a_worker_that_dies_or_hangs_is_replaced(worker: WorkerProcess) -> None:
    worker.ensure()
    first, beats = worker.pid, []
    with pytest.raises(WorkerDied, match="signal 9"):
        worker.call(request("die"), 60.0)
    with pytest.raises(WorkerLate, match="ended after 3 s"):
        worker.call(request("hang"), 3.0, lambda: beats.append(1), every=0.2)
    assert beats
    reply, _ = worker.call(request("answer"), 60.0)
    assert not reply.has_error() and worker.pid != first
    last = worker.pid
    worker.stop()
    assert worker.pid is None and last is not None and not Path(f"/proc/{last}").exists()


def test_a_worker_whose_app_cannot_be_imported_says_why(worker: WorkerProcess) -> None:
    broken = WorkerProcess("pfedgp_test_broken:app")
    with pytest.raises(WorkerUnusable, match=r"cannot load pfedgp_test_broken:app \(ModuleNotFoundError: No module"):
        broken.ensure()
    broken.stop()


# --- plan, state folder, command --------------------------------------------------------------------------------------


def test_every_text_of_the_node_config_arrives_at_flower(tmp_path: Path) -> None:
    config = {"client-name": "Station „3“ 😀", "data-path": '/a "b"/c\'s\\d', "partition-id": 3}
    (tmp_path / "flwr").mkdir()
    plan = SitePlan("localhost:9092", "/ca.crt", "/key", config, str(tmp_path), "x")
    assert SitePlan.from_json(plan.to_json()) == plan
    arguments = plan.supernode_arguments(4711)
    file = arguments[arguments.index("--node-config") + 1]
    assert parse_config_args([file]) == config
    assert arguments[arguments.index("--auth-supernode-private-key") + 1] == "/key"
    assert arguments[arguments.index("--host") + 1] == "127.0.0.1" and "--insecure" not in arguments


def test_the_app_is_the_one_of_the_project_file() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert ":".join(get_metadata_from_config(project)) == APP_ID
    assert project["tool"]["flwr"]["app"]["components"]["clientapp"] == APP


def test_a_state_folder_has_one_owner(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path / "a" / "b")
    refused = pytest.raises(ConfigError, match=rf"running already \(process {os.getpid()}\)")
    with folder.locked(), refused, StateFolder(folder.path).locked():
        raise AssertionError
    with folder.locked(), folder.logs() as logger:
        logger.info("kept")
        folder.write_status({"connected": True})
    assert "kept" in folder.log_file.read_text()
    assert json.loads((folder.path / "client.json").read_text()) == {"connected": True}


class FakeProcess:
    """A SuperNode that says what a test wants."""

    lives: ClassVar[list[list[Heard]]] = []

    def __init__(self, plan: SitePlan, heard: "queue.SimpleQueue[Heard]") -> None:
        self.pid = 1
        for one in self.lives.pop(0):
            heard.put(one)

    def stop(self) -> None:
        """Nothing to end."""


def problem(code: str, lasting: bool) -> Any:
    """What the doctor finds."""
    return SimpleNamespace(code=code, text=f"About {code}.", lasting=lasting, warning=False)


WARNING = Heard("line", "2026-01-02 03:04:05,678 pfedgp.client WARNING: this site cannot take part: The class 'thre'")
GREETED = Heard(
    "event", {"event": "task", "what": "the greeting", "round": 0, "run": "7", "seconds": 0.01, "error": ""}
)
STOCK = Heard("event", {"event": "stock", "reason": "Flower 1.40.0 is installed"})
UNUSABLE = Heard("event", {"event": "unusable", "reason": "it cannot load its app (ImportError)"})
UNSTORED = Heard(
    "line", "flwr.supercore.inflatable.inflatable_utils.ObjectPushError: Failed to push object with ID '1'"
)
CONNECT, TERMINATE = Heard("line", "INFO : SuperNode ID: 77"), Heard("signal", signal.SIGTERM)


@pytest.mark.parametrize(
    ("found", "lives", "shown", "ends"),
    [
        ([[], []], [[CONNECT, Heard("ended", 1)], [TERMINATE]], "exit code 1); it is started again", 0),
        (
            [[], []],
            [[CONNECT, UNSTORED, Heard("ended", 1)], [TERMINATE]],
            "ended (a reply could not be handed over whole)",
            0,
        ),
        ([[], []], [[CONNECT, Heard("ended", -9)], [TERMINATE]], "signal 9); it is started again", 0),
        ([[], [problem("wrong-ca", True)]], [[CONNECT, Heard("ended", 1)], [TERMINATE]], "Waiting: About wrong-ca.", 0),
        ([[problem("refused", False)]], [[TERMINATE]], "Waiting: About refused.", 0),
        ([[problem("unregistered", True)]], [[TERMINATE]], "Waiting: About unregistered.", 0),
        ([[]], [[Heard("signal", signal.SIGINT)]], "Stopped.", 130),
        ([[]], [[STOCK, TERMINATE]], "this site runs whatever app", 0),
        ([[]], [[CONNECT, UNUSABLE, Heard("ended", 0)]], "it cannot load its app", RunFailedError),
        ([[problem("wrong-ca", True)]], [], "About wrong-ca.", ConfigError),
        ([[], [problem("wrong-name", True)]], [[Heard("ended", 1)]], "About wrong-name.", ConfigError),
    ],
)
def test_what_ends_a_client_and_what_does_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, found: Any, lives: Any, shown: str, ends: Any
) -> None:
    monkeypatch.setattr(supervisor, "SuperNodeProcess", FakeProcess)
    monkeypatch.setattr(supervisor, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(FakeProcess, "lives", lives)
    monkeypatch.setattr(supervisor, "_diagnose", lambda plan, refused: found.pop(0))
    folder = StateFolder(tmp_path)
    with folder.locked(), folder.logs() as logger:
        client = Supervisor(SitePlan("localhost:1", "", "", {}, str(tmp_path), "x"), folder, logger)
        if isinstance(ends, int):
            assert client.run() == ends
        else:
            with pytest.raises(ends, match=shown):
                client.run()
    assert shown in folder.log_file.read_text()
    assert not json.loads((tmp_path / "client.json").read_text())["connected"]


def test_the_operator_of_a_site_that_cannot_take_part_is_told_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(supervisor, "SuperNodeProcess", FakeProcess)
    monkeypatch.setattr(FakeProcess, "lives", [[CONNECT, WARNING, GREETED, WARNING, GREETED, TERMINATE]])
    monkeypatch.setattr(supervisor, "_diagnose", lambda plan, refused: [])
    folder = StateFolder(tmp_path)
    with folder.locked(), folder.logs() as logger:
        Supervisor(SitePlan("localhost:1", "", "", {}, str(tmp_path), "x"), folder, logger).run()
    shown = capsys.readouterr().out
    assert shown.count("Problem: this site cannot take part: The class 'thre'") == 1
    assert shown.count("Answered the greeting of run 7 in 0.0 s.") == 2


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ({"what": "train"}, "Trained round 5 of run 7 in 1.2 s."),
        ({"what": "evaluate", "split": "validation"}, "Evaluated round 5 of run 7 in 1.2 s."),
        (
            {"what": "evaluate", "split": "test"},
            "Evaluated the best model, of round 5, of run 7 on test data in 1.2 s.",
        ),
        (
            {"what": "train", "taken": False},
            "The server no longer took the reply to train in round 5 of run 7, as the run had ended.",
        ),
    ],
)
def test_what_a_site_did_is_a_sentence(event: dict[str, Any], said: str) -> None:
    assert supervisor._task({"round": 5, "run": "7", "seconds": 1.23, "error": ""} | event) == said


@pytest.mark.parametrize("dropped", [True, False])
def test_a_reply_that_the_supernode_has_dropped_does_not_end_the_site(
    monkeypatch: pytest.MonkeyPatch, dropped: bool
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
        *("127.0.0.1:1", b"x" * 32, cast(WorkerProcess, worker), waits, "app:1"),
        lambda kind, **fields: told.append(fields),
    )
    if dropped:
        served._serve(cast(Any, None))
        assert (told[0]["taken"], told[0]["split"]) == (False, "test")
    else:
        with pytest.raises(inflatable_utils.ObjectPushError):
            served._serve(cast(Any, None))


def test_a_warning_of_the_app_is_known_by_the_form_of_its_log(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    logger = logging.getLogger("pfedgp.client")
    monkeypatch.setattr(logger, "handlers", [])
    monkeypatch.setattr(logger, "propagate", True)
    monkeypatch.delenv("PFEDGP_CLIENT_LOG", raising=False)
    messages._log_to_site()
    logger.warning("this site cannot take part: %s", "no")
    logger.info("all is well")
    lines = [flower_log.plain(line) for line in capsys.readouterr().err.splitlines()]
    assert [flower_log.warning_of_app(line) for line in lines] == ["this site cannot take part: no", ""]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "Missing: --name, --ca, --key, --data. A whole command: pfedgp client --name"),
        (["--data", "x", "--partition-id", "1", "--num-partitions", "2"], "Give the site's data with --data"),
        (["--partition-id", "1"], "--partition-id and --num-partitions go together"),
        (["--data", "x"], "Missing: --name, --ca, --key. A"),
        (["--partition-id", "0", "--num-partitions", "2", "--insecure", "--superlink", "h"], "is no address"),
        (["--data", "x", "--name", "a/b", "--insecure"], "is not a name"),
        (["--data", "x", "--name", "a", "--insecure", "--superlink", "host"], "is no address"),
        (["--data", "x", "--name", "a", "--insecure", "--superlink", "host:70000"], "is no address"),
        (["--data", "x", "--name", "a", "--superlink", "10.0.0.1:9092", "--insecure"], "a server on this machine"),
        (["--data", "x", "--name", "a", "--insecure", "--key", "k"], "uses neither --ca nor --key"),
        (["--data", "x", "--name", "a", "--ca", "no-such-file"], "Missing: --key. A"),
        (["--data", "no/such/data", "--name", "a", "--insecure"], "nothing at no/such/data"),
        (["--data", "x", "--name", "a", "--ca", "no-such-file", "--key", "k"], "--ca no-such-file cannot be read"),
    ],
)
def test_a_mistake_in_the_command_is_one_sentence(
    options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["client", "--superlink", "localhost:9092", *options]) == 2
    assert sentence in capsys.readouterr().err


def test_without_any_option_all_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["client"]) == 2
    assert "Missing: --name, --superlink, --ca, --key, --data. " in capsys.readouterr().err


def test_a_site_without_usable_data_does_not_start(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("a,b\n1,2\n")
    done = subprocess.run(
        [
            *(sys.executable, "-P", "-m", "pfedgp", "client", "--insecure", "--superlink", "localhost:9"),
            *("--name", "x", "--data", str(data), "--state", str(tmp_path / "state")),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "pfedgp client x: checking data, device and server ..." in done.stdout
    assert "label" in done.stderr and f"See all problems with: pfedgp check-data {data}" in done.stderr
