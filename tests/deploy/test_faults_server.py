"""The server's side under faults: a ServerApp that is killed, a run that goes on elsewhere, a disk that is full."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

from server.run.model_file import load_model
from tests.deploy.deployment import WARDS, Deployment, deployed
from tests.deploy.program import wait_for

pytestmark = pytest.mark.slow

ROUNDS = 10
OPTIONS = [
    *("--rounds", str(ROUNDS), "--clients-per-round", "2", "--seed", "8"),
    *("--set", "min-clients=3", "--set", "evaluate-every=2", "--set", "personalise=false"),
]


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A server with three sites that wait."""
    with deployed(tmp_path_factory.mktemp("server"), WARDS) as made:
        yield made


@contextmanager
def held(deployment: Deployment, run: str, after: int) -> Iterator[None]:
    """The run, once round `after` is in a checkpoint, while all sites are stopped and it waits for their replies."""
    wait_for(lambda: checkpoints(deployment.runs / run)[-1:] >= [after], 120.0, f"a checkpoint of round {after}")
    workers = [deployment.pids(name)["worker"] for name in WARDS]
    for worker in workers:
        os.kill(worker, signal.SIGSTOP)
    try:
        yield
    finally:
        for worker in workers:
            os.kill(worker, signal.SIGCONT)


def checkpoints(run: Path) -> list[int]:
    """Rounds of the checkpoints that are there."""
    return sorted(int(file.stem.removeprefix("round-")) for file in (run / "checkpoints").glob("round-*.safetensors"))


@pytest.fixture(scope="module")
def uninterrupted(deployment: Deployment) -> Path:
    """The run that nothing happens to."""
    run = deployment.start_run("plain", *OPTIONS)
    assert run.ends(400.0) == 0, run.text
    return deployment.runs / "plain"


def test_a_run_whose_server_app_is_killed_goes_on_to_the_same_model(
    deployment: Deployment, uninterrupted: Path
) -> None:
    run = deployment.start_run("killed", *OPTIONS)
    with held(deployment, "killed", after=2):
        os.kill(deployment.server_app(), signal.SIGKILL)
    kept = checkpoints(deployment.runs / "killed")[-1]
    assert 2 <= kept < ROUNDS
    resumed = deployment.start_run("killed", verb="resume")
    assert resumed.ends(400.0) == 0, resumed.text
    assert [r["sampled"] for r in deployment.rounds("killed")] == [r["sampled"] for r in deployment.rounds("plain")]
    for which in ("best", "final"):
        vector, meta = load_model(deployment.runs / "killed" / which)
        expected, expected_meta = load_model(uninterrupted / which)
        np.testing.assert_allclose(vector, expected, rtol=0.0, atol=1e-6)
        assert meta["round"] == expected_meta["round"]
    summary = deployment.summary("killed")
    assert summary["status"] == "completed"
    assert summary["run"]["resumed"][0]["after_round"] == kept
    # The run that was killed ends too, once Flower has missed its heartbeats, and says so.
    assert run.ends(240.0) == 1
    assert "Traceback" not in run.text
    last = run.text.splitlines()[-1]
    assert "The server app died" in last
    assert "pfedgp resume" in last


def test_a_full_disk_stops_the_run_whole_and_room_lets_it_go_on(deployment: Deployment, uninterrupted: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("a disk of its own needs root")
    folder = deployment.runs / "full"
    with small_disk(folder, megabytes=12):
        run = deployment.start_run("full", *OPTIONS)
        with held(deployment, "full", after=2):
            filler = fill(folder)
        assert run.ends(240.0) == 1
        last = run.text.splitlines()[-1]
        assert "space" in last.lower()
        assert "pfedgp resume" in last
        assert "Traceback" not in run.text
        kept = checkpoints(folder)
        assert kept
        assert 2 <= kept[-1] < ROUNDS
        filler.unlink()
        resumed = deployment.start_run("full", verb="resume")
        assert resumed.ends(400.0) == 0, resumed.text
        vector, _ = load_model(folder / "final")
        np.testing.assert_allclose(vector, load_model(uninterrupted / "final")[0], rtol=0.0, atol=1e-6)
        assert [r["round"] for r in deployment.rounds("full")] == list(range(1, ROUNDS + 1))


def test_a_killed_superlink_costs_no_round(deployment: Deployment, uninterrupted: Path) -> None:
    assert deployment.server is not None
    run = deployment.start_run("superlink", *OPTIONS)
    with held(deployment, "superlink", after=2):
        os.kill(deployment.processes()["superlink"], signal.SIGKILL)
        deployment.server.says("the superlink ended by signal 9")
    assert run.ends(400.0) == 0, run.text
    deployment.server.says("the superlink runs again")
    rounds = deployment.rounds("superlink")
    assert [r["round"] for r in rounds] == list(range(1, ROUNDS + 1))
    assert all(r["ok"] == 2 for r in rounds)
    np.testing.assert_allclose(
        load_model(deployment.runs / "superlink" / "final")[0],
        load_model(uninterrupted / "final")[0],
        rtol=0.0,
        atol=1e-6,
    )


def test_a_superlink_that_is_away_for_longer_than_a_token_lives_costs_no_round(deployment: Deployment) -> None:
    run = deployment.start_run("away", *OPTIONS)
    former = deployment.processes()["superlink"]
    with held(deployment, "away", after=2):
        os.kill(former, signal.SIGKILL)
        wait_for(lambda: deployment.processes()["superlink"] != former, 60.0, "a new SuperLink")
        started = deployment.processes()["superlink"]
        os.kill(started, signal.SIGSTOP)  # before it has a port: Python takes seconds to load it
    time.sleep(75.0)
    os.kill(started, signal.SIGCONT)
    assert run.ends(400.0) == 0, run.text
    assert [r["round"] for r in deployment.rounds("away")] == list(range(1, ROUNDS + 1))


def test_a_run_goes_on_without_the_command_that_started_it(deployment: Deployment) -> None:
    run = deployment.start_run("left", *OPTIONS)
    with held(deployment, "left", after=1):
        run.process.kill()
        run.process.wait()
        again = deployment.start_run("left", verb="attach")
        again.says(r"round +1/", 60.0)
    assert again.ends(400.0) == 0, again.text
    assert deployment.summary("left")["status"] == "completed"
    assert [r["round"] for r in deployment.rounds("left")] == list(range(1, ROUNDS + 1))


def test_a_run_that_no_site_is_left_for_ends_and_goes_on_later(deployment: Deployment) -> None:
    run = deployment.start_run("deserted", *OPTIONS, "--set", "wait-timeout=20")
    wait_for(lambda: checkpoints(deployment.runs / "deserted")[-1:] >= [1], 120.0, "a checkpoint of round 1")
    for site in deployment.sites.values():
        site.process.terminate()
    assert [site.stop() for site in deployment.sites.values()] == [0, 0, 0]
    assert run.ends(240.0) == 1
    last = run.text.splitlines()[-1]
    assert "after 20 s" in last
    assert all(name in last for name in WARDS)
    assert "pfedgp resume" in last
    for name in WARDS:
        deployment.start_site(name, "--data", str(deployment.data(name)))
    deployment.connected(times=2)
    resumed = deployment.start_run("deserted", verb="resume")
    assert resumed.ends(300.0) == 0, resumed.text
    assert [r["round"] for r in deployment.rounds("deserted")] == list(range(1, ROUNDS + 1))


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[None]:
    """A file system of its own in a folder."""
    folder.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=700", "pfedgp-test", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no disk of its own here: {done.stderr.strip()}")
    try:
        yield
    finally:
        # Busy as long as a ServerApp has a file open in it.
        try:
            unmounted = ["umount", str(folder)]
            wait_for(
                lambda: subprocess.run(unmounted, capture_output=True, check=False).returncode == 0,
                30,
                "free disk",
                every=0.5,
            )
        except AssertionError:
            subprocess.run(["umount", "-l", str(folder)], capture_output=True, check=False)


def fill(folder: Path) -> Path:
    """A file that takes all the room that is left."""
    path = folder / "filler"
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    return path
