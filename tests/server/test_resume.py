"""A run that was killed at any moment goes on, and ends with the same bits as one that was not."""

import errno
import json
import logging
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from flwr.app import Error, Message

import server.federation
import server.strategy
from pfedgp_core.config import Settings
from pfedgp_core.errors import ArtefactError, ConfigError, RunFailedError
from pfedgp_core.exchange import CONFIG, EVALUATE, ROUND, TRAIN
from server import files
from server.artefacts import RunFolder, load_model
from server.outputs import Outputs
from server.resume import Resumable
from server.run_lock import RunLock, is_locked
from tests.fakegrid import FakeGrid, Tamper
from tests.federation_run import SMALL, Run, federate, resume
from tests.killed import die, dies_at_file, dies_at_step, finished, killed

SETTINGS = SMALL.replace(rounds=4, clients_per_round=2)
MODES = {"one exchange": True, "separate": False}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pictures and reports, which take most of the time of such short runs."""
    monkeypatch.setattr(Outputs, "reporters", lambda self: [])
    monkeypatch.setattr(RunFolder, "write_plots", lambda *arguments: None)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Settings, bool], Run]:
    """Uninterrupted runs, each made once."""
    from flwr.supercore.task_identity import TaskIdentity

    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
    runs: dict[tuple[Settings, bool], Run] = {}

    def get(settings: Settings, deployed: bool) -> Run:
        if (settings, deployed) not in runs:
            path = tmp_path_factory.mktemp("whole") / "run"
            with mock.patch.object(Outputs, "reporters", lambda self: []):
                runs[settings, deployed] = federate(settings, path, deployed=deployed)
        return runs[settings, deployed]

    return get


def same(run: Run, other: Run) -> bool:
    """Assert that two runs have left the same, but for what depends on the clock."""
    for which in ("best", "final"):
        # The file itself is no measure: the order of the entries in its header is not fixed.
        kept, wanted = load_model(run.path / which), load_model(other.path / which)
        assert kept[0].tobytes() == wanted[0].tobytes() and kept[1] == wanted[1], which
    for name in ("best/meta.json", "final/meta.json", "clients.csv", "calibration.json", "partition.json"):
        assert (run.path / name).read_text() == (other.path / name).read_text(), name
    assert run.lasting == other.lasting
    clock = {"seconds", "gp_share", "network_share", "run"}
    kept = [{key: value for key, value in r.summary.items() if key not in clock} for r in (run, other)]
    assert kept[0] == kept[1]
    assert not [path for path in run.path.rglob("*.partial")]
    return True


def at_message(kind: str, server_round: int) -> Tamper:
    """A tamper that kills the run when the second client answers a certain request."""
    seen: list[int] = []

    def tamper(request: Message, index: int, reply: Message) -> Message:
        if (request.metadata.message_type, request.content.config_records[CONFIG][ROUND]) == (kind, server_round):
            seen.append(index)
            if len(seen) == 2:
                die()
        return reply

    return tamper


def at_call(module: Any, name: str, call: int) -> Any:
    """A context in which the process dies in the `call`-th call of a function."""
    real, calls = getattr(module, name), []

    def dying(*arguments: Any, **options: Any) -> Any:
        calls.append(name)
        if len(calls) == call:
            die()
        return real(*arguments, **options)

    return mock.patch.object(module, name, dying)


def half_a_line(server_round: int) -> Any:
    """A context in which the process dies when half of a round's line is in ``metrics.jsonl``."""
    real = files.append_line

    def dying(path: Path, line: str) -> None:
        if json.loads(line)["round"] == server_round:
            with path.open("ab") as file:
                file.write(line.encode()[: len(line) // 2])
                file.flush()
                os.fsync(file.fileno())
            die()
        real(path, line)

    return mock.patch("server.artefacts.append_line", dying)


# What kills the run: a context around it, or a tamper of its messages.
PHASES: dict[str, Any] = {
    "config before it has its name": lambda: dies_at_file("config.toml", "link"),
    "config just written": lambda: dies_at_file("config.toml", "link", after=True),
    "first checkpoint half written": lambda: dies_at_file("round-000000.safetensors", "to-disk"),
    "first checkpoint just written": lambda: dies_at_file("round-000000.safetensors", "replace", after=True),
    "training": lambda: at_message(TRAIN, 3),
    "training in round 1": lambda: at_message(TRAIN, 1),
    "aggregation": lambda: at_call(server.strategy, "combine", 2),
    "evaluation decided, nothing written": lambda: at_call(server.federation, "with_evaluation", 1),
    "line of metrics half written": lambda: half_a_line(2),
    "line of metrics written, no checkpoint": lambda: at_call(server.federation, "write_checkpoint", 3),
    "checkpoint before its first byte": lambda: at_call(server.federation, "write_checkpoint", 4),
    "checkpoint half written": lambda: dies_at_file("round-000003.safetensors", "to-disk"),
    "checkpoint before it has its name": lambda: dies_at_file("round-000003.safetensors", "replace"),
    "checkpoint just written": lambda: dies_at_file("round-000003.safetensors", "replace", after=True),
    "best model half written": lambda: dies_at_file("best/model.safetensors", "to-disk"),
    "best model without its description": lambda: dies_at_file("best/model.safetensors", "replace", after=True),
    "final model": lambda: dies_at_file("final/model.safetensors", "replace"),
    "validation": lambda: at_message(EVALUATE, 2),
    "final test": lambda: at_message(EVALUATE, 4),
    "results half written": lambda: dies_at_file("clients.csv", "to-disk"),
    "results written, no summary": lambda: dies_at_file("summary.json", "replace"),
}


@pytest.mark.parametrize("deployed", MODES.values(), ids=MODES)
@pytest.mark.parametrize("phase", PHASES)
def test_a_killed_run_goes_on_to_the_same_end(
    phase: str, deployed: bool, tmp_path: Path, whole: Callable[[Settings, bool], Run]
) -> None:
    out, how = tmp_path / "run", PHASES[phase]()
    tamper = None if hasattr(how, "__enter__") else how
    with nullcontext() if tamper else how:
        killed(lambda: federate(SETTINGS, out, tamper, deployed))
    if not (out / "config.toml").exists():  # killed before its first file: a new run may have the folder
        run = federate(SETTINGS, out, deployed=deployed)
    else:
        run = resume(out, deployed=deployed)
        assert run.summary["run"]["resumed"][0]["run_id"] == "2"
    assert same(run, whole(SETTINGS, deployed))


@pytest.mark.slow
@pytest.mark.parametrize("deployed", MODES.values(), ids=MODES)
def test_a_run_killed_at_every_step_of_every_file_goes_on(
    deployed: bool, tmp_path: Path, whole: Callable[[Settings, bool], Run]
) -> None:
    settings = SETTINGS.replace(rounds=2, evaluate_every=1)
    number = 0
    while True:
        out = tmp_path / f"run-{number}"
        with dies_at_step(number):
            if finished(lambda out=out: federate(settings, out, deployed=deployed)):
                break
        if not (out / "config.toml").exists():
            run = federate(settings, out, deployed=deployed)
        elif (out / "summary.json").exists():
            with pytest.raises(ArtefactError, match="is complete"):
                resume(out, deployed=deployed)
            run = Run(out)
        else:
            run = resume(out, deployed=deployed)
        assert same(run, whole(settings, deployed)), number
        shutil.rmtree(out)
        number += 1
    assert number > 40


def test_a_run_that_is_killed_again_and_again_goes_on(tmp_path: Path, whole: Callable[[Settings, bool], Run]) -> None:
    out = tmp_path / "run"
    killed(lambda: federate(SETTINGS, out, at_message(TRAIN, 1), deployed=True))
    for server_round in (2, 3, 4):
        killed(lambda at=server_round: resume(out, at_message(TRAIN, at), deployed=True))
    run = resume(out, deployed=True)
    assert same(run, whole(SETTINGS, True))
    assert [again["after_round"] for again in run.summary["run"]["resumed"]] == [0, 1, 2, 3]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_one_exchange_gives_the_numbers_of_two(task: str, tmp_path: Path) -> None:
    settings = SETTINGS.replace(evaluate_every=1)
    if task == "regression":
        from tests.server.test_regression_federation import SMALL as REGRESSION

        settings = REGRESSION.replace(evaluate_every=1)
    two, one = (federate(settings, tmp_path / str(deployed), deployed=deployed) for deployed in (False, True))
    without_bytes = [[{k: v for k, v in r.items() if k[:6] != "bytes_"} for r in run.lasting] for run in (two, one)]
    assert without_bytes[0] == without_bytes[1]
    assert any(record["best"] for record in one.records)
    assert one.model("best").tobytes() == two.model("best").tobytes()
    for name in ("best/meta.json", "final/meta.json", "clients.csv"):
        assert (one.path / name).read_text() == (two.path / name).read_text()
    # The vector travels once a round to each sampled client, and not a second time for the evaluation.
    assert sum(r["bytes_sent"] for r in one.records) < sum(r["bytes_sent"] for r in two.records)


def test_an_evaluation_that_fails_in_one_exchange_costs_no_update(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import client.client_app

    real = client.client_app.evaluate_client

    def fails_for_one(state, train, test, settings, stream, **options):
        if "client-02" in stream.path and "validation" in stream.path:
            raise MemoryError("/data/ward-3")
        return real(state, train, test, settings, stream, **options)

    monkeypatch.setattr(client.client_app, "evaluate_client", fails_for_one)
    settings = SETTINGS.replace(clients_per_round=4, evaluate_every=1)
    two, one = (federate(settings, tmp_path / str(deployed), deployed=deployed) for deployed in (False, True))
    assert [r["validation_failed"] for r in one.records] == [{"client-02": "MemoryError"}] * 4
    assert [r["failed"] for r in one.records] == [{}] * 4
    assert one.model("final").tobytes() == two.model("final").tobytes()
    assert [r["validation_accuracy"] for r in one.records] == [r["validation_accuracy"] for r in two.records]
    assert one.summary["failures"] == {"client-02": {"MemoryError": 4}}


def fails_in(server_round: int, name: int) -> Tamper:
    """A tamper in which one client fails to train in one round."""

    def tamper(request: Message, index: int, reply: Message) -> Message:
        config = request.content.config_records[CONFIG]
        if (request.metadata.message_type, config[ROUND], index) == (TRAIN, server_round, name):
            return Message(Error(code=8, reason=""), reply_to=request)
        return reply

    return tamper


@pytest.mark.parametrize("deployed", MODES.values(), ids=MODES)
def test_on_failure_stop_ends_the_run_before_the_round_counts(
    deployed: bool, tmp_path: Path, whole: Callable[[Settings, bool], Run]
) -> None:
    settings, out = SETTINGS.replace(on_failure="stop", clients_per_round=4), tmp_path / "run"
    with pytest.raises(RunFailedError, match=r"Round 3 .*client-01: the client process died.*stop.*after round 2 with"):
        federate(settings, out, fails_in(3, 1), deployed)
    run = Run(out)
    assert run.summary["status"] == "failed" and "pfedgp resume" in run.summary["reason"]
    assert run.summary["failures"] == {"client-01": {"the client process died": 1}}
    assert [r["ok"] for r in run.records] == [4, 4, 3]
    assert same(resume(out, deployed=deployed), whole(settings, deployed))


def test_on_failure_continue_goes_on_and_counts(tmp_path: Path) -> None:
    run = federate(SETTINGS.replace(clients_per_round=4), tmp_path / "run", fails_in(3, 1), deployed=True)
    assert run.summary["status"] == "completed"
    assert run.summary["failures"] == {"client-01": {"the client process died": 1}}


@pytest.mark.parametrize("deployed", MODES.values(), ids=MODES)
def test_a_run_that_failed_rounds_ended_gets_its_tries_again(deployed: bool, tmp_path: Path) -> None:
    def nobody_trains(request: Message, index: int, reply: Message) -> Message:
        failed = Message(Error(code=8, reason=""), reply_to=request)
        return failed if request.metadata.message_type == TRAIN else reply

    settings, out = SETTINGS.replace(max_failed_rounds=2), tmp_path / "run"
    with pytest.raises(RunFailedError, match="2 rounds in a row"):
        federate(settings, out, nobody_trains, deployed)
    assert [record["round"] for record in Run(out).records] == [1, 2]
    run = resume(out, fails_in(3, 1), deployed)
    assert run.summary["status"] == "completed" and [r["ok"] > 0 for r in run.records] == [False, False, True, True]


class Late(FakeGrid):
    """Holds back every reply of one client until the next round."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.held: dict[str, Message] = {}

    def _deliver(self, message: Message) -> str:
        sent = super()._deliver(message)
        config = message.content.config_records[CONFIG]
        if message.metadata.message_type == TRAIN:
            if self.index(message.metadata.dst_node_id) == 1 and config[ROUND] == 1:
                self.held[sent] = self._replies.pop(sent)
            elif config[ROUND] == 2:
                self._replies |= self.held
        return sent

    def pull_messages(self, message_ids):
        return super().pull_messages([*message_ids, *(set(self.held) & set(self._replies))])


def test_a_reply_that_comes_a_round_too_late_is_ignored(tmp_path: Path) -> None:
    from client.client_app import app
    from tests.federation_run import start

    settings = SETTINGS.replace(clients_per_round=4, rounds=2, round_timeout=1.0)
    run = start(Late(app, settings.clients), settings, tmp_path / "late")
    assert run.records[0]["failed"] == {"client-01": "no reply within 1 s"}
    assert run.records[1]["ok"] == len(run.records[1]["sampled"]) and run.records[1]["failed"] == {}


def test_a_complete_run_is_refused_unless_it_gets_more_rounds(
    tmp_path: Path, whole: Callable[[Settings, bool], Run]
) -> None:
    out = tmp_path / "run"
    shutil.copytree(whole(SETTINGS, True).path, out)
    with pytest.raises(ArtefactError, match="is complete: give --rounds with more than 4"):
        resume(out, deployed=True)
    with pytest.raises(ConfigError, match="rounds = 3 is less than the 4"):
        resume(out, deployed=True, rounds=3)
    with pytest.raises(ConfigError, match=r"learning-rate = 0.5 where the run in .* has 0.05: only rounds"):
        resume(out, deployed=True, **{"rounds": 6, "learning-rate": 0.5})
    assert Run(out).summary["status"] == "completed"
    longer = resume(out, deployed=True, rounds=6)
    assert longer.summary["rounds"] == 6 and len(longer.records) == 6
    assert longer.lasting[:3] == whole(SETTINGS, True).lasting[:3]
    assert Resumable.open(out, 7).settings.rounds == 7
    with pytest.raises(ArtefactError, match="complete: give --rounds with more than 6"):
        Resumable.open(out)


def test_what_is_no_run_or_an_edited_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match=r"There is no run in .*nowhere"):
        resume_only(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()
    out = tmp_path / "run"
    killed(lambda: federate(SETTINGS, out, at_message(TRAIN, 2)))
    config = out / "config.toml"
    config.write_text(config.read_text().replace("learning-rate = 0.05", "learning-rate = 0.07"))
    with pytest.raises(ConfigError, match=r"learning-rate = 0.07 where the run in .* has 0.05.*leave config.toml"):
        resume(out)
    shutil.rmtree(out / "checkpoints")
    with pytest.raises(ArtefactError, match="has no checkpoint"):
        resume(out)


def resume_only(out: Path) -> None:
    """Ask the server app to go on with a run, whatever is there."""
    from flwr.app import Context, RecordDict

    from client.client_app import app
    from server.server_app import app as server_app

    server_app(FakeGrid(app, SETTINGS.clients), Context(2, 1, {}, RecordDict(), {"resume": str(out)}))


def test_a_run_that_still_runs_is_left_alone_until_its_process_is_dead(
    tmp_path: Path, whole: Callable[[Settings, bool], Run]
) -> None:
    out = tmp_path / "run"
    killed(lambda: federate(SETTINGS, out, at_message(TRAIN, 3)))
    assert not is_locked(out)
    holds = "import sys, time; from pathlib import Path; from server.run_lock import RunLock\n"
    holds += "lock = RunLock(Path(sys.argv[1])); print('held', flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", holds, str(out)], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"held\n"
            assert is_locked(out)
            before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
            with pytest.raises(ArtefactError, match=f"is in use by process {process.pid}, which still runs"):
                resume(out)
            assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
    assert same(resume(out), whole(SETTINGS, False))
    with RunLock(out):
        pass


def no_room(name: str) -> Any:
    """A context in which the disk is full when a file whose path holds `name` is written."""
    real = files._to_disk

    def full(file: Any) -> None:
        if name in file.name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(file)

    return mock.patch.object(files, "_to_disk", full)


@pytest.mark.parametrize("deployed", MODES.values(), ids=MODES)
@pytest.mark.parametrize("name", ["round-000003", "metrics.jsonl", "best/.model", "clients.csv"])
def test_a_full_disk_ends_the_run_with_the_remedy_and_loses_no_round(
    name: str, deployed: bool, tmp_path: Path, whole: Callable[[Settings, bool], Run]
) -> None:
    out = tmp_path / "run"
    sentence = (
        r"Cannot write .*No space left.*: make room and rights there, then go on after round \d with: pfedgp resume"
    )
    with no_room(name), pytest.raises(ArtefactError, match=sentence):
        federate(SETTINGS, out, deployed=deployed)
    assert Run(out).summary["status"] == "failed" and "make room" in Run(out).summary["reason"]
    assert same(resume(out, deployed=deployed), whole(SETTINGS, deployed))


def test_a_file_size_limit_is_met_like_a_full_disk(tmp_path: Path, whole: Callable[[Settings, bool], Run]) -> None:
    """The kernel itself refuses here, in the middle of a write."""
    out = tmp_path / "run"
    size = len((whole(SETTINGS, True).path / "best" / "model.safetensors").read_bytes())

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        # Enough for one vector, not for the two of a checkpoint whose best model is another than the current one.
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(1.5 * size), int(1.5 * size)))
        try:
            federate(SETTINGS, out, deployed=True)
        except ArtefactError as error:
            (tmp_path / "said").write_text(str(error))

    assert finished(limited)
    assert "File too large): make room and rights there, then go on after round" in (tmp_path / "said").read_text()
    assert same(resume(out, deployed=True), whole(SETTINGS, True))


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system needs root")
def test_a_disk_that_is_really_full(tmp_path: Path, whole: Callable[[Settings, bool], Run]) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=450k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        with pytest.raises(ArtefactError, match=r"No space left.*make room and rights there, then go on after round"):
            federate(SETTINGS, disk / "run", deployed=True)
        subprocess.run(["mount", "-o", "remount,size=20m", disk], check=True)
        assert same(resume(disk / "run", deployed=True), whole(SETTINGS, True))
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_damaged_checkpoint_costs_its_round_only(
    tmp_path: Path, whole: Callable[[Settings, bool], Run], caplog: pytest.LogCaptureFixture
) -> None:
    out = tmp_path / "run"
    killed(lambda: federate(SETTINGS, out, at_message(TRAIN, 4)))
    newest = out / "checkpoints" / "round-000003.safetensors"
    content = bytearray(newest.read_bytes())
    content[-1] ^= 1
    newest.write_bytes(content)
    caplog.set_level(logging.WARNING, "pfedgp")
    run = resume(out)
    assert "round-000003.safetensors: its checksum differs" in caplog.text and "from round 2" in caplog.text
    assert same(run, whole(SETTINGS, False))


def test_outputs_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # reporters are what this is about
    files_of: dict[str, list[str]] = {}
    for name in ("whole", "killed"):
        out, prom = tmp_path / name / "run", tmp_path / f"{name}.prom"
        tamper = at_message(TRAIN, 3) if name == "killed" else None

        def go(out: Path = out, prom: Path = prom, tamper: Tamper | None = tamper) -> None:
            from flwr.app import Context, RecordDict

            from client.client_app import app
            from server.server_app import app as server_app

            config = SETTINGS.to_run_config() | {"out": str(out), "prometheus": str(prom)}
            server_app(FakeGrid(app, SETTINGS.clients, tamper), Context(1, 1, {}, RecordDict(), dict(config)))

        if name == "whole":
            go()
        else:
            killed(go)
            resume(out)
        lines = prom.read_text().splitlines()
        files_of[name] = [line for line in lines if "_total" in line and line[0] != "#"]
    assert files_of["whole"] == files_of["killed"] != []


@pytest.mark.slow
def test_a_simulation_that_was_killed_goes_on_with_one_command(tmp_path: Path) -> None:
    arguments = ["--clients", "5", "--rounds", "5", "--set", "clients-per-round=2", "--set", "evaluate-every=2"]
    arguments += ["--set", "gp.sweeps=2", "--set", "wait-timeout=300", "--workers", "1"]

    def pfedgp(*words: str) -> list[str]:
        return [sys.executable, "-m", "pfedgp", *words]

    subprocess.run(pfedgp("simulate", *arguments, "--out", str(tmp_path / "whole")), check=True, timeout=600)
    out = tmp_path / "killed"
    first = subprocess.Popen(pfedgp("simulate", *arguments, "--out", str(out)), start_new_session=True)
    try:
        deadline = time.monotonic() + 300
        while not (out / "checkpoints" / "round-000002.safetensors").exists():
            assert first.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        os.killpg(first.pid, signal.SIGKILL)  # the engine's workers end when they miss it
        first.wait()
    assert not (out / "summary.json").exists()
    done = subprocess.run(pfedgp("resume", str(out), "--workers", "1"), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "going on after round" in done.stdout and done.stdout.splitlines()[-1] == str(out)
    assert same(Run(out), Run(tmp_path / "whole"))
    again = subprocess.run(pfedgp("resume", str(out)), capture_output=True, text=True, timeout=600)
    assert again.returncode == 2 and "is complete: give --rounds" in again.stderr
