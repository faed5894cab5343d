"""A run in the containers, and what a client does with its model."""

import csv
import json
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.deploy.containers.compose import MARKS, Project, Watched, docker
from tests.deploy.test_containers_doc import BLOCKS

pytestmark = MARKS
# What docs/containers.md shows for a client's own test samples: predict, then certify.
DOCUMENTED = [
    shlex.split(
        line.removeprefix("docker compose ")
        .partition(" >")[0]
        .replace("run --rm", "run --rm -T")
        .replace("-T -T", "-T")
    )
    for block in BLOCKS
    for line in block.splitlines()
    if line.startswith("docker compose run --rm") and "client-00 " in line and "/data/digits" in line
]
# The same federation as docker/data.sh makes.
SIMULATION = ("--clients", "5", "--classes-per-client", "4", "--set", "unseen-clients=2", "--clients-per-round", "3")


def test_accuracy_is_that_of_the_simulation_and_results_are_on_the_host(
    project: Project, plain: Watched, tmp_path: Path
) -> None:
    assert [(ok, failed) for _, ok, failed in plain.rounds()] == [(3, 0)] * 20
    folder = project.out / "plain"
    assert plain.lines[-1] == str(folder)
    for name in ("best/model.safetensors", "final/model.safetensors", "report.html", "config.toml", "summary.json"):
        assert (folder / name).stat().st_size > 0
        assert (folder / name).stat().st_uid == 1000
    with (folder / "clients.csv").open(newline="") as file:
        assert [row["name"] for row in csv.DictReader(file)] == ["client-00", "client-01", "client-02"]
    simulated = tmp_path / "simulated"
    command = [sys.executable, "-P", "-m", "pfedgp", "simulate", *SIMULATION, "--rounds", "20", "--seed", "0"]
    subprocess.run([*command, "--out", str(simulated)], check=True, capture_output=True, cwd=tmp_path)
    here, there = (json.loads((f / "summary.json").read_text()) for f in (folder, simulated))
    print(f"accuracy: containers {here['accuracy']:.4f}, simulation {there['accuracy']:.4f}")
    assert here["status"] == "completed"
    # The image has a torch of its own, whose last bits decide which round is best: three standard errors, 211 samples.
    assert abs(here["accuracy"] - there["accuracy"]) <= 0.03
    assert min(here["accuracy"], there["accuracy"]) > 0.95
    (folder / "report.html").unlink()
    assert project.compose("run", "--rm", "-T", "runner", "report", "plain").split() == [f"{folder}/report.html"]
    assert (folder / "report.html").stat().st_size > 0


@pytest.mark.usefixtures("plain")
def test_a_client_predicts_and_certifies_after_a_run(project: Project, tmp_path: Path) -> None:
    site = ("--site", "/state/site")
    project.compose("stop", "client-00")  # as `up` leaves it
    own, certified = (project.compose(*command) for command in DOCUMENTED)
    assert "error of the deployed classifier" in certified
    project.compose("start", "client-00")
    rows = list(csv.DictReader(own.splitlines()))
    docker("cp", f"{project.container('client-00')}:/data/digits/test.npz", str(tmp_path / "new.npz"))
    with np.load(tmp_path / "new.npz") as new:
        assert len(rows) == len(new[new.files[0]]) > 0
    (tmp_path / "new.npz").chmod(0o644)
    mount = ("--volume", f"{tmp_path / 'new.npz'}:/new.npz:ro")
    alike = project.compose(
        *("run", "--rm", "-T", "--no-deps", *mount, "client-00", "predict", *site, "--data", "/new.npz", "--out", "-")
    )
    assert alike == own
    project.wait_healthy()
