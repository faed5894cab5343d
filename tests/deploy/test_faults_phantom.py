"""A phantom in a site's place: it costs a run one timeout, and the site gets back with a new key."""

from pathlib import Path
from typing import Any

import grpc
import pytest

from tests.deploy.deployment import WARDS, Deployment, deployed
from tests.deploy.phantom import activate
from tests.deploy.program import wait_for

pytestmark = pytest.mark.slow

VICTIM = "ward-c"
TIMEOUT = 20.0


def test_a_phantom_costs_one_timeout_and_a_new_key_brings_the_site_back(tmp_path: Path) -> None:
    with deployed(tmp_path, WARDS) as deployment:
        run = deployment.start_run(
            "haunted",
            *(
                "--preset",
                "zero-mean",
                "--rounds",
                "1000",
                "--clients-per-round",
                "3",
                "--set",
                "min-clients=3",
                "--set",
                "min-results=2",
            ),
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
        site = deployment.start_site(VICTIM, "--data", str(deployment.data(VICTIM)))
        site.says(r"Waiting: .*key", 60.0)
        assert site.stop() == 0

        # The remedy of docs/deploy.md: away with the key, a new one of the same name.
        assert deployment.call("certs", "--remove", VICTIM, "--out", str(deployment.certs)).returncode == 0
        assert (
            deployment.call("certs", "--client-names", VICTIM, "--make-keys", "--out", str(deployment.certs)).returncode
            == 0
        )
        before = last(deployment)
        deployment.start_site(VICTIM, "--data", str(deployment.data(VICTIM)))
        back = wait_for(
            lambda: [r for r in rounds_with(deployment, VICTIM) if r["round"] > before and not r["failed"]],
            120.0,
            "the site takes part again",
        )
        assert back
        assert deployment.stop_run("haunted").returncode == 0
        assert run.ends(60.0) == 1


def rounds_with(deployment: Deployment, name: str) -> list[dict[str, Any]]:
    """Rounds that a site was asked in."""
    return [record for record in deployment.rounds("haunted") if name in record["sampled"]]


def last(deployment: Deployment) -> int:
    """The last round so far."""
    return int(deployment.rounds("haunted")[-1]["round"])


def activated(deployment: Deployment) -> bool:
    """Activate the victim's node; False while the server still takes it for connected."""
    try:
        public, stolen = deployment.key(f"{VICTIM}.pub"), deployment.key(VICTIM)
        return activate(deployment.superlink, deployment.ca, public, heartbeat=1800.0, stolen=stolen) > 0
    except grpc.RpcError as error:
        assert "2004" in str(error.details()), error  # noqa: PT017 (another error is a failure)
        return False
