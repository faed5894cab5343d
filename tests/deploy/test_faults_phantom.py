"""A phantom in a site's place: it costs a run one timeout, and the site gets back with a new key."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pfedgp.local_processes import flower_program
from tests.conftest import QUIET
from tests.deploy.deployment import Deployment, wait_for
from tests.deploy.digit_images import write_digits
from tests.deploy.phantom import activate

pytestmark = pytest.mark.slow

CLASSES = {"ward-a": (0, 1), "ward-b": (2, 3), "ward-c": (4, 5)}
VICTIM = "ward-c"
TIMEOUT = 20.0


def test_a_phantom_costs_one_timeout_and_a_new_key_brings_the_site_back(tmp_path: Path) -> None:
    with Deployment(tmp_path, list(CLASSES)) as deployment:
        deployment.start_server()
        data = {name: write_digits(tmp_path / "data" / name, classes, 30) for name, classes in CLASSES.items()}
        for name in CLASSES:
            deployment.start_site(name, "--data", str(data[name]))
        deployment.connected()
        run = deployment.start_run(
            "haunted",
            *("--rounds", "1000", "--clients-per-round", "3", "--set", "min-clients=3", "--set", "min-results=2"),
            *("--set", f"round-timeout={TIMEOUT:g}", "--set", "evaluate-every=1000", "--set", "personalise=false"),
        )
        wait_for(lambda: rounds_with(deployment, VICTIM), 120.0, "a round with the site")

        # The site leaves, and is at once replaced by a phantom that is to stay for an hour.
        assert deployment.sites[VICTIM].stop() == 0
        wait_for(lambda: activated(deployment), 30.0, "the phantom's activation")
        haunted = last(deployment)
        wait_for(lambda: last(deployment) > haunted + 12, 120.0, "twelve rounds more")
        failed = [r for r in deployment.rounds("haunted") if r["round"] > haunted - 1 and VICTIM in r["failed"]]
        assert len([r for r in failed if r["seconds"]["train"] > TIMEOUT - 1.0]) <= 1
        calm = deployment.rounds("haunted")[-3:]
        assert all(VICTIM not in r["sampled"] and not r["failed"] and r["seconds"]["round"] < TIMEOUT for r in calm)

        # The real site is kept out by it, and says so.
        site = deployment.start_site(VICTIM, "--data", str(data[VICTIM]))
        site.says(r"Waiting: .*key", 60.0)
        assert site.stop() == 0

        # The remedy of docs/deploy.md: away with the node, a new key of the same name.
        node = next(s for s in status(deployment)["sites"] if s["name"] == VICTIM)
        flower(deployment, "supernode", "unregister", node["id"], "pfedgp")
        for key in (VICTIM, f"{VICTIM}.pub"):
            (deployment.certs / "clients" / key).unlink()
        assert deployment.call("certs", "--client-names", VICTIM, "--out", str(deployment.certs)).returncode == 0
        before = last(deployment)
        deployment.start_site(VICTIM, "--data", str(data[VICTIM]))
        back = wait_for(
            lambda: [r for r in rounds_with(deployment, VICTIM) if r["round"] > before and not r["failed"]],
            120.0,
            "the site takes part again",
        )
        assert back
        assert deployment.call("stop", "haunted", "--state", str(deployment.state)).returncode == 0
        assert run.ends(60.0) == 1


def rounds_with(deployment: Deployment, name: str) -> list[dict[str, Any]]:
    """Rounds that a site was asked in."""
    return [record for record in deployment.rounds("haunted") if name in record["sampled"]]


def last(deployment: Deployment) -> int:
    """The last round so far."""
    return int(deployment.rounds("haunted")[-1]["round"])


def activated(deployment: Deployment) -> bool:
    """Activate the victim's node; False while the server still takes it for connected."""
    import grpc

    try:
        public = deployment.certs / "clients" / f"{VICTIM}.pub"
        return activate(deployment.superlink, deployment.certs / "ca.crt", public, heartbeat=1800.0) > 0
    except grpc.RpcError as error:
        assert "2004" in str(error.details()), error
        return False


def status(deployment: Deployment) -> dict[str, Any]:
    """What ``pfedgp status --json`` says."""
    import json

    done = deployment.call("status", "--json", "--state", str(deployment.state))
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def flower(deployment: Deployment, *arguments: str) -> None:
    """Flower's own command line, as the server's state folder sets it up."""
    environment = os.environ | QUIET | {"FLWR_HOME": str(deployment.state / "flwr")}
    done = subprocess.run(
        [flower_program("flwr"), *arguments], env=environment, capture_output=True, text=True, timeout=60.0, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
