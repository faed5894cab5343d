"""Simulations: the same apps on the pool and on Flower's engine give the same result as in one process."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pfedgp.local.resources import Resources
from pfedgp.local.simulation import run_simulation
from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError, RunFailedError
from tests.deploy.program import children
from tests.federation_run import SMALL, Run, federate
from tests.waiting import wait_for

# Workers may take a while to start on a busy machine.
PATIENT = SMALL.replace(wait_timeout=300.0)
POOL, RAY = Resources(workers=2), Resources(workers=2, engine="ray")
KINDS = {
    "full": PATIENT,
    "ip-data": PATIENT.replace(variant="ip-data", inducing_per_class=5),
    "ip-compute": PATIENT.replace(variant="ip-compute", inducing_per_class=5),
    "fedper": PATIENT.replace(method="fedper", rounds=4),
}


def same_as_alone(settings: Settings, folder: Path, resources: Resources) -> Run:
    """Run it twice, and see that nothing but the clock tells the two apart."""
    summary = run_simulation(settings, folder / "run", resources)
    run, alone = Run(folder / "run"), federate(settings, folder / "alone")
    assert summary == run.summary
    assert summary["status"] == "completed"
    assert run.lasting == alone.lasting
    assert run.model("final").tobytes() == alone.model("final").tobytes()
    return run


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_pool_gives_the_same_bits_as_one_process(
    kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = dict(os.environ)
    run = same_as_alone(KINDS[kind], tmp_path, POOL)
    assert dict(os.environ) == before
    assert [line for line in capfd.readouterr().out.splitlines() if line.startswith("round 1/")]
    assert not (run.path / "clients.log").exists()
    assert run.summary["run"]["backend"] == "pool"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_flowers_engine_gives_the_same_bits_as_one_process(kind: str, tmp_path: Path) -> None:
    run = same_as_alone(KINDS[kind], tmp_path, RAY)
    assert not (run.path / "clients.log").exists()
    assert run.summary["run"]["backend"] == "ray"


@pytest.mark.slow
def test_a_run_goes_on_with_the_same_bits_on_another_engine(tmp_path: Path) -> None:
    settings = KINDS["fedper"]
    run_simulation(settings.replace(rounds=2), tmp_path / "run", RAY)
    run_simulation(settings, tmp_path / "run", POOL, resume=True)
    run, alone = Run(tmp_path / "run"), federate(settings, tmp_path / "alone")
    assert run.model("final").tobytes() == alone.model("final").tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("resources", [POOL, RAY], ids=["pool", "ray"])
def test_a_client_failure_leaves_its_traceback_beside_the_artefacts(resources: Resources, tmp_path: Path) -> None:
    settings = PATIENT.replace(dataset="cifar10", data_root="no-such-data")
    with pytest.raises(RunFailedError, match=r"DataError.*clients\.log"):
        run_simulation(settings, tmp_path / "run", resources)
    assert "no-such-data" in (tmp_path / "run" / "clients.log").read_text()
    assert Run(tmp_path / "run").summary["status"] == "failed"


@pytest.mark.parametrize("workers", [0, -3])
def test_a_number_of_workers_that_cannot_work(workers: int) -> None:
    with pytest.raises(ConfigError, match=f"workers = {workers}"):
        Resources(workers)


def test_an_unexpected_error_is_one_sentence_and_a_traceback_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pfedgp.local import pool_engine

    def broken(*arguments: object, **options: object) -> None:
        raise OSError("no space\nleft")

    monkeypatch.setattr(pool_engine, "run_on_pool", broken)
    with pytest.raises(RunFailedError, match=r"OSError at test_simulation\.py:\d+: no space left \(traceback in "):
        run_simulation(SMALL, tmp_path, Resources(1))
    assert "Traceback" in (tmp_path / "error.log").read_text()


def test_an_engine_that_does_not_start_ends_the_server_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    def broken(*arguments: object, **options: object) -> None:
        raise OSError("no memory for the object store")

    monkeypatch.setattr(ray, "init", broken)
    before, output = set(threading.enumerate()), sys.stdout
    with pytest.raises(RunFailedError, match=r"OSError .*no memory for the object store"):
        run_simulation(PATIENT, tmp_path / "run", Resources(1, engine="ray"))
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


@pytest.mark.slow
def test_the_command_ends_though_ray_waits_for_an_engine_that_did_not_start(tmp_path: Path) -> None:
    words = ["simulate", "--clients", "5", "--rounds", "1", "--set", "clients-per-round=2", "--engine", "ray"]
    process = subprocess.Popen(
        [sys.executable, "-c", NEVER_ENDS, *words, "--out", str(tmp_path / "r")], stderr=subprocess.PIPE, text=True
    )
    try:
        _, said = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 1
    assert "no memory for the object store" in said.splitlines()[-1]


WITHOUT_RAY = """
import sys
sys.modules["ray"] = None
from pfedgp.cli import main
sys.exit(main())
"""


@pytest.mark.slow
def test_the_pool_needs_no_ray(tmp_path: Path) -> None:
    words = ["simulate", "--clients", "5", "--rounds", "1", "--set", "clients-per-round=2", "--method", "fedavg"]
    command = [sys.executable, "-c", WITHOUT_RAY, *words, "--workers", "1", "--out", str(tmp_path / "r")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_worker_that_is_killed_changes_no_bit(tmp_path: Path) -> None:
    """Out of memory, say: the run goes on with another worker, and one line says so."""
    out = tmp_path / "run"
    settings = PATIENT.replace(rounds=40, evaluate_every=40)
    words = [f"--set={key}={value}" for key, value in settings.to_run_config().items() if value != ""]
    command = [sys.executable, "-P", "-m", "pfedgp", "simulate", *words, "--workers", "2", "--out", str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            wait_for((out / "metrics.jsonl").exists, 240, "the first round")
            _, *workers = children(process.pid)  # all come from the first
            assert len(workers) == 2
            for pid in workers:
                os.kill(pid, signal.SIGKILL)
            said, _ = process.communicate(timeout=240)
        finally:
            process.kill()
    assert process.returncode == 0, said
    assert "a worker process ended (SIGKILL) with a train request to client" in said
    alone = federate(settings, tmp_path / "alone")
    assert Run(out).model("final").tobytes() == alone.model("final").tobytes()
