"""Containers that are killed, cut off and started again within a run."""

import csv
import json
import time

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.deploy.containers.compose import MARKS, Project, Watched, docker, metrics, runner

pytestmark = MARKS


def test_client_killed_in_a_round_and_another_cut_off(project: Project) -> None:
    """Each costs at most the rounds that it is away in, and is given work again."""
    run = runner(
        *(project, "run", "--rounds", "20", "--local-epochs", "20", "--out", "/state/runs/faults"),
        *("--set", "round-timeout=75", "--set", "evaluate-every=1"),
    )
    run.wait_for(r"^round +1/20 ")
    time.sleep(1)
    docker("kill", project.container("client-02"))
    print(f"{time.strftime('%T')} killed client-02")
    docker("start", project.container("client-02"))
    run.wait_for(r"^round +3/20 ")
    cut, network = project.container("client-01"), f"{project.name}_fleet"
    docker("network", "disconnect", network, cut)
    print(f"{time.strftime('%T')} client-01 cut off")
    time.sleep(15)
    docker("network", "connect", "--alias", "client-01", network, cut)
    print(f"{time.strftime('%T')} client-01 connected again")
    assert run.end() == 0, run.text
    # The killed one may return 65 s after its end, when its node is free again: in time for the last rounds.
    rounds = metrics(project.out / "faults")
    assert [entry["round"] for entry in rounds] == list(range(1, 21))
    assert not rounds[0]["failed"]
    failed = {name for entry in rounds for name in entry["failed"]}
    assert "client-02" in failed
    assert "client-00" not in failed
    # An answer that is on its way when the network goes may be lost: Flower sends it in two steps.
    assert sum("client-01" in entry["failed"] for entry in rounds) <= 1
    assert rounds[-1]["ok"] == 3
    assert not rounds[-1]["failed"]
    with (project.out / "faults" / "clients.csv").open(newline="") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    assert set(rows) == {"client-00", "client-01", "client-02"}
    project.wait_healthy()


@pytest.fixture(scope="module")
def restarted(project: Project) -> Watched:
    """A run of 8 rounds in which the SuperLink was killed and started again."""
    run = runner(project, "run", "--rounds", "8", "--local-epochs", "10", "--out", "/state/runs/restart")
    run.wait_for(r"^round +2/8 ")
    docker("kill", project.container("superlink"))
    print(f"{time.strftime('%T')} killed the SuperLink")
    time.sleep(3)
    docker("start", project.container("superlink"))
    assert run.end() == 0, run.text
    return run


def test_superlink_killed_and_started_again_in_a_run(project: Project, restarted: Watched) -> None:
    assert len(restarted.rounds()) == 8
    assert json.loads((project.out / "restart" / "summary.json").read_text())["status"] == "completed"
    project.wait_healthy()


@pytest.mark.usefixtures("restarted")
def test_server_app_killed_and_the_run_resumed(project: Project) -> None:
    run = runner(project, "run", "--rounds", "8", "--local-epochs", "10", "--out", "/state/runs/cut")
    run.wait_for(r"^round +3/8 ")
    docker("kill", project.container("superexec"))
    docker("start", project.container("superexec"))
    assert run.end() == 1, run.text
    assert run.lines[-1].endswith(": docker compose run --rm runner resume cut"), run.text
    project.wait_healthy()
    again = runner(project, "resume", "cut")
    assert again.end() == 0, again.text
    folder = project.out / "cut"
    assert [entry["round"] for entry in metrics(folder)] == list(range(1, 9))
    assert (folder / "report.html").exists()
    whole = project.out / "restart"  # with the same settings, and it kept its server app
    assert [entry["ok"] for entry in metrics(folder)] == [entry["ok"] for entry in metrics(whole)] == [3] * 8
    resumed, uncut = (load_file(run / "final" / "model.safetensors") for run in (folder, whole))
    assert all(np.abs(resumed[key] - uncut[key]).max() < 1e-6 for key in uncut)
