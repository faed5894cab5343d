"""``pfedgp resume --without`` on a real server over TLS: the new run is the one that the site never joined."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.run.model_file import load_model
from server.run.run_config import read_origin
from tests.deploy.deployment import Deployment
from tests.deploy.digit_images import write_digits
from tests.deploy.program import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

LATE, ROUNDS = "ward-c", 12
SITES = {"ward-a": (0, 1), "ward-b": (2, 3), LATE: (0, 3)}  # who comes late has no class of its own
OPTIONS = (
    *("--rounds", str(ROUNDS), "--seed", "3", "--clients-per-round", "2"),
    *("--set", "min-clients=2", "--set", "evaluate-every=5", "--set", "round-timeout=60", "--set", "personalise=false"),
    *("--set", "gp.sweeps=1", "--set", "gp.train-chains=2", "--set", "gp.predict-chains=2"),
)
TRANSPORT = ("seconds", "bytes_sent", "bytes_received", "bytes_evaluation")


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A server, two sites, and a third one that a test starts; the run without it is there already."""
    with Deployment(tmp_path_factory.mktemp("wo"), list(SITES)) as made:
        made.start_server()
        for name, digits in SITES.items():
            write_digits(made.data(name), digits, 20)
        both = [name for name in SITES if name != LATE]
        for name in both:
            made.start_site(name, "--data", str(made.data(name)))
        made.connected(*both)
        assert made.start_run("never", *OPTIONS).ends(600.0) == 0
        yield made


@pytest.fixture(scope="module")
def joined(deployment: Deployment) -> str:
    """The name of a run that the third site joined."""
    run = deployment.start_run("joined", *OPTIONS)
    wait_for(lambda: len(deployment.rounds("joined")) >= 2, 180.0, "two rounds without the late site")
    held = deployment.server_app()
    os.kill(held, signal.SIGSTOP)  # a site takes longer to start than the rounds that are left
    deployment.start_site(LATE, "--data", str(deployment.data(LATE)))
    deployment.connected(LATE)
    os.kill(held, signal.SIGCONT)
    assert run.ends(600.0) == 0
    assert any(LATE in record["sampled"] for record in deployment.rounds("joined"))
    return "joined"


def goes_on_without(deployment: Deployment, run: str, new: str) -> Path:
    """Do what docs/governance.md says, and return the new run's folder."""
    out = deployment.runs / new
    done = deployment.call(
        *("resume", str(deployment.runs / run), "--without", LATE, "--out", str(out)),
        *("--state", str(deployment.state)),
        timeout=600.0,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"the last one before {LATE} joined." in done.stdout
    return out


def lasting(deployment: Deployment, run: str) -> list[dict[str, Any]]:
    return [{k: v for k, v in record.items() if k not in TRANSPORT} for record in deployment.rounds(run)]


def is_the_run_that_it_never_joined(deployment: Deployment, run: str) -> None:
    for which in ("best", "final"):
        made, never = (load_model(deployment.runs / name / which)[0] for name in (run, "never"))
        assert made.tobytes() == never.tobytes(), which
    assert lasting(deployment, run) == lasting(deployment, "never")
    assert LATE not in (deployment.runs / run / "clients.csv").read_text()
    for key in ("accuracy", "nll", "best_round", "initial"):
        assert deployment.summary(run)[key] == deployment.summary("never")[key], key


def test_while_the_site_is_connected(deployment: Deployment, joined: str) -> None:
    out = goes_on_without(deployment, joined, "again")
    is_the_run_that_it_never_joined(deployment, "again")
    origin = read_origin(out)
    assert origin["without"] == [LATE]
    assert 1 < origin["begun_from"]["after_round"] < ROUNDS
    assert LATE in (deployment.runs / joined / "clients.csv").read_text()
    assert f"{LATE} is left out: this run goes on without it" in deployment.sites[LATE].text


def test_after_its_key_was_removed(deployment: Deployment, joined: str) -> None:
    removed = deployment.call("certs", "--remove", LATE, "--out", str(deployment.certs))
    assert removed.returncode == 0, removed.stderr
    deployment.sites[LATE].says("Waiting: The key .* does not exist", 180.0)  # which lay in the server's folder here
    goes_on_without(deployment, joined, "after-removal")
    is_the_run_that_it_never_joined(deployment, "after-removal")


def test_each_site_hears_what_joining_would_give(deployment: Deployment) -> None:
    initial = deployment.summary("never")["initial"]
    assert (initial["clients"], initial["missing_clients"]) == (2, {})
    for name in ("ward-a", "ward-b"):
        assert "Evaluated the network before round 1 of run " in deployment.sites[name].text
        assert json.loads((deployment.site_state(name) / "client.json").read_text())["connected"]
