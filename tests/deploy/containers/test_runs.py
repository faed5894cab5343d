"""A run in the containers, and what a client does with its model."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.deploy.containers.compose import MARKS, Project, Watched, docker

pytestmark = MARKS
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
    own = project.execute("client-00", "pfedgp", "predict", *site, "--data", "/data/digits/test.npz", "--out", "-")
    assert own.returncode == 0, own.stderr
    rows = list(csv.DictReader(own.stdout.splitlines()))
    docker("cp", f"{project.container('client-00')}:/data/digits/test.npz", str(tmp_path / "new.npz"))
    with np.load(tmp_path / "new.npz") as new:
        assert len(rows) == len(new[new.files[0]]) > 0
    (tmp_path / "new.npz").chmod(0o644)
    mount = ("--volume", f"{tmp_path / 'new.npz'}:/new.npz:ro")
    alike = project.compose(
        *("run", "--rm", "-T", "--no-deps", *mount, "client-00", "predict", *site, "--data", "/new.npz", "--out", "-")
    )
    assert alike == own.stdout
    bound = project.execute(
        *("client-00", "pfedgp", "certify", *site, "--method", "held-out", "--data", "/data/digits/test.npz", "--json")
    )
    assert bound.returncode == 0, bound.stderr
    assert json.loads(bound.stdout)["site"] == "client-00"
