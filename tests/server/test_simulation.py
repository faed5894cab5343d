"""The launcher of simulations: the same apps on Flower's engine give the same result as in one process."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pfedgp.local.simulation import run_simulation
from pfedgp_core.errors import ConfigError, RunFailedError
from tests.federation_run import SMALL, Run, federate
from tests.waiting import wait_for

# Ray and its workers may take a while to start on a busy machine.
PATIENT = SMALL.replace(wait_timeout=300.0)


@pytest.mark.slow
def test_the_engine_gives_the_same_bits_as_one_process(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = dict(os.environ)
    summary = run_simulation(PATIENT, tmp_path / "ray", workers=2)
    printed = capfd.readouterr().out
    assert dict(os.environ) == before
    engine, alone = Run(tmp_path / "ray"), federate(PATIENT, tmp_path / "alone")
    assert summary == engine.summary
    assert summary["status"] == "completed"
    assert engine.lasting == alone.lasting
    assert engine.model("final").tobytes() == alone.model("final").tobytes()
    assert [line for line in printed.splitlines() if line.startswith("round 1/3")]
    assert not (tmp_path / "ray" / "clients.log").exists()


@pytest.mark.slow
def test_a_client_failure_leaves_its_traceback_beside_the_artefacts(tmp_path: Path) -> None:
    settings = PATIENT.replace(dataset="cifar10", data_root="no-such-data")
    with pytest.raises(RunFailedError, match=r"DataError.*clients\.log"):
        run_simulation(settings, tmp_path / "run", workers=1)
    assert "no-such-data" in (tmp_path / "run" / "clients.log").read_text()
    assert Run(tmp_path / "run").summary["status"] == "failed"


@pytest.mark.parametrize("workers", [0, -3])
def test_a_number_of_workers_that_cannot_work(workers: int, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"workers = {workers}"):
        run_simulation(SMALL, tmp_path, workers)


def test_an_unexpected_error_is_one_sentence_and_a_traceback_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import flwr.simulation

    def broken(*arguments: object, **options: object) -> None:
        raise OSError("no space\nleft")

    monkeypatch.setattr(flwr.simulation, "run_simulation", broken)
    with pytest.raises(RunFailedError, match=r"OSError at test_simulation\.py:\d+: no space left \(traceback in "):
        run_simulation(SMALL, tmp_path, workers=1)
    assert "Traceback" in (tmp_path / "error.log").read_text()


def test_an_engine_that_does_not_start_ends_the_server_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    def broken(*arguments: object, **options: object) -> None:
        raise OSError("no memory for the object store")

    monkeypatch.setattr(ray, "init", broken)
    before, output = set(threading.enumerate()), sys.stdout
    with pytest.raises(RunFailedError, match=r"OSError .*no memory for the object store"):
        run_simulation(PATIENT, tmp_path / "run", workers=1)
    assert sys.stdout is output

    def ended() -> bool:
        """Whether every thread that the run started is over, also one that started late."""
        return not [thread for thread in set(threading.enumerate()) - before if not thread.daemon]

    wait_for(ended, 60.0, "the server app's thread has ended")


# Ray's library waits at the end of the process, in C++, for an engine that it once knew.
NEVER_ENDS = """
import ctypes, sys, ray
libc = ctypes.CDLL(None)
libc.__cxa_atexit(libc.pause, None, None)
def broken(*arguments, **options):
    raise OSError("no memory for the object store")
ray.init = broken
from pfedgp.cli import main
sys.exit(main())
"""


def test_the_command_ends_though_ray_waits_for_an_engine_that_did_not_start(tmp_path: Path) -> None:
    words = [
        "simulate",
        "--clients",
        "5",
        "--rounds",
        "1",
        "--set",
        "clients-per-round=2",
        "--out",
        str(tmp_path / "r"),
    ]
    process = subprocess.Popen([sys.executable, "-c", NEVER_ENDS, *words], stderr=subprocess.PIPE, text=True)
    try:
        _, said = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 1
    assert "no memory for the object store" in said.splitlines()[-1]
