"""A run that was killed at any moment goes on, and ends with the same bits as one that was not."""

import logging
import os
import shutil
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import pfedgp_core.methods.base
import server.federation
import server.recorder
from pfedgp_core.errors import ArtefactError, ConfigError
from pfedgp_core.wire.names import EVALUATE, TRAIN
from server.run.claim import RunLock, is_claimed
from server.run.resume import Resumable
from tests.fakegrid import FakeGrid, Tamper
from tests.federation_run import Run, federate, resume
from tests.killed import at_call, at_message, dies_at_file, dies_at_step, finished, half_a_line, killed
from tests.uninterrupted import MODES, SETTINGS, same, uninterrupted, without_pictures
from tests.waiting import wait_for

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs leave out what takes most of their time."""
    without_pictures(monkeypatch)


# What kills the run: a context around it, or a tamper of its messages.
PHASES: dict[str, Any] = {
    "config before it has its name": lambda: dies_at_file("config.toml", "link"),
    "config just written": lambda: dies_at_file("config.toml", "link", after=True),
    "first checkpoint half written": lambda: dies_at_file("round-000000.safetensors", "to-disk"),
    "first checkpoint just written": lambda: dies_at_file("round-000000.safetensors", "replace", after=True),
    "training": lambda: at_message(TRAIN, 3),
    "training in round 1": lambda: at_message(TRAIN, 1),
    "aggregation": lambda: at_call(pfedgp_core.methods.base, "combine", 2),
    "evaluation decided, nothing written": lambda: at_call(server.federation, "with_evaluation", 1),
    "line of metrics half written": lambda: half_a_line(2),
    "line of metrics written, no checkpoint": lambda: at_call(server.recorder, "write_checkpoint", 3),
    "checkpoint before its first byte": lambda: at_call(server.recorder, "write_checkpoint", 4),
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


# A deployment's way of evaluating has the other as a part of it, so that of the simulation gets a few of the moments.
FEW = ("training", "aggregation", "checkpoint half written", "validation")
CASES = [pytest.param(phase, True, id=phase) for phase in PHASES] + [
    pytest.param(phase, False, id=f"{phase}, simulation", marks=() if phase in FEW else pytest.mark.slow)
    for phase in PHASES
]


@pytest.mark.parametrize(("phase", "deployed"), CASES)
def test_a_killed_run_goes_on_to_the_same_end(phase: str, deployed: bool, tmp_path: Path) -> None:
    out, how = tmp_path / "run", PHASES[phase]()
    tamper = None if hasattr(how, "__enter__") else how
    with nullcontext() if tamper else how:
        killed(lambda: federate(SETTINGS, out, tamper, deployed))
    if not (out / "config.toml").exists():  # killed before its first file: a new run may have the folder
        run = federate(SETTINGS, out, deployed=deployed)
    else:
        run = resume(out, deployed=deployed)
        assert run.summary["run"]["resumed"][0]["run_id"] == "2"
    assert same(run, uninterrupted(SETTINGS, deployed))


@pytest.mark.parametrize("deployed", MODES.values(), ids=MODES)
def test_a_run_killed_at_every_step_of_every_file_goes_on(deployed: bool, tmp_path: Path) -> None:
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
        assert same(run, uninterrupted(settings, deployed)), number
        shutil.rmtree(out)
        number += 1
    assert number > 40


def test_a_run_that_is_killed_again_and_again_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "run"
    killed(lambda: federate(SETTINGS, out, at_message(TRAIN, 1), deployed=True))
    for server_round in (2, 3, 4):
        killed(lambda at=server_round: resume(out, at_message(TRAIN, at), deployed=True))
    run = resume(out, deployed=True)
    assert same(run, uninterrupted(SETTINGS, True))
    # A checkpoint is written once the next requests are sent: a kill in between costs a round and leaves no trace.
    assert [again["after_round"] for again in run.summary["run"]["resumed"]] == [0, 1, 2]


def test_a_damaged_checkpoint_costs_its_round_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    out = tmp_path / "run"
    killed(lambda: federate(SETTINGS, out, at_message(TRAIN, 4)))
    newest = out / "checkpoints" / "round-000003.safetensors"
    content = bytearray(newest.read_bytes())
    content[-1] ^= 1
    newest.write_bytes(content)
    caplog.set_level(logging.WARNING, "pfedgp")
    run = resume(out)
    assert "round-000003.safetensors: its checksum differs" in caplog.text
    assert "from round 2" in caplog.text
    assert same(run, uninterrupted(SETTINGS, False))


def test_a_complete_run_is_refused_unless_it_gets_more_rounds(tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(uninterrupted(SETTINGS, True).path, out)
    with pytest.raises(ArtefactError, match="is complete: give --rounds with more than 4"):
        resume(out, deployed=True)
    with pytest.raises(ConfigError, match="rounds = 3 is less than the 4"):
        resume(out, deployed=True, rounds=3)
    with pytest.raises(ConfigError, match=r"learning-rate = 0.5 where the run in .* has 0.05: only rounds"):
        resume(out, deployed=True, **{"rounds": 6, "learning-rate": 0.5})
    assert Run(out).summary["status"] == "completed"
    longer = resume(out, deployed=True, rounds=6)
    assert longer.summary["rounds"] == 6
    assert len(longer.records) == 6
    assert longer.lasting[:3] == uninterrupted(SETTINGS, True).lasting[:3]
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
    from server.server_app import serve

    grid = FakeGrid(app, SETTINGS.clients)
    serve(grid, Context(2, 1, {}, RecordDict(), {"resume": str(out)}), grid.engine)


def test_a_run_that_still_runs_is_left_alone_until_its_process_is_dead(tmp_path: Path) -> None:
    out = tmp_path / "run"
    killed(lambda: federate(SETTINGS, out, at_message(TRAIN, 3)))
    assert not is_claimed(out)
    holds = "import sys, time; from pathlib import Path; from server.run.claim import RunLock\n"
    holds += "lock = RunLock(Path(sys.argv[1])); print('held', flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", holds, str(out)], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"held\n"
            assert is_claimed(out)
            before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
            with pytest.raises(ArtefactError, match=f"is in use by process {process.pid}, which still runs"):
                resume(out)
            assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
    assert same(resume(out), uninterrupted(SETTINGS, False))
    with RunLock(out):
        pass


def test_outputs_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # reporters are what this is about
    files_of: dict[str, list[str]] = {}
    for name in ("whole", "killed"):
        out, prom = tmp_path / name / "run", tmp_path / f"{name}.prom"
        tamper = at_message(TRAIN, 3) if name == "killed" else None

        def go(out: Path = out, prom: Path = prom, tamper: Tamper | None = tamper) -> None:
            from flwr.app import Context, RecordDict

            from client.client_app import app
            from server.server_app import serve

            config = SETTINGS.to_run_config() | {"out": str(out), "prometheus": str(prom)}
            grid = FakeGrid(app, SETTINGS.clients, tamper)
            serve(grid, Context(1, 1, {}, RecordDict(), dict(config)), grid.engine)

        if name == "whole":
            go()
        else:
            killed(go)
            resume(out)
        lines = prom.read_text().splitlines()
        files_of[name] = [line for line in lines if "_total" in line and line[0] != "#"]
    assert files_of["whole"] == files_of["killed"] != []


def test_a_simulation_that_was_killed_goes_on_with_one_command(tmp_path: Path) -> None:
    arguments = ["--clients", "5", "--rounds", "5", "--set", "clients-per-round=2", "--set", "evaluate-every=2"]
    arguments += ["--set", "gp.sweeps=2", "--set", "wait-timeout=300", "--workers", "1"]

    def pfedgp(*words: str) -> list[str]:
        return [sys.executable, "-m", "pfedgp", *words]

    subprocess.run(pfedgp("simulate", *arguments, "--out", str(tmp_path / "whole")), check=True, timeout=600)
    out = tmp_path / "killed"
    first = subprocess.Popen(pfedgp("simulate", *arguments, "--out", str(out)), start_new_session=True)
    try:
        second = out / "checkpoints" / "round-000002.safetensors"
        wait_for(lambda: second.exists() or first.poll() is not None, 300, "the second checkpoint", every=0.01)
        assert first.poll() is None
    finally:
        os.killpg(first.pid, signal.SIGKILL)  # the engine's workers end when they miss it
        first.wait()
    assert not (out / "summary.json").exists()
    done = subprocess.run(
        pfedgp("resume", str(out), "--workers", "1"), capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "going on after round" in done.stdout
    assert done.stdout.splitlines()[-1] == str(out)
    assert same(Run(out), Run(tmp_path / "whole"))
    again = subprocess.run(pfedgp("resume", str(out)), capture_output=True, text=True, timeout=600, check=False)
    assert again.returncode == 2
    assert "is complete: give --rounds" in again.stderr
