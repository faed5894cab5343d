"""A site whose cable is pulled for a minute: the run goes on without it, and it takes part again by itself."""

import time
from pathlib import Path

import pytest

from tests.deploy.deployment import deployed
from tests.deploy.namespaces import lab
from tests.deploy.program import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.netns, pytest.mark.root]

CLASSES = {"ward-a": (0, 1), "ward-b": (2, 3)}
CUT = "ward-b"
CUT_SECONDS = 60.0
TIMEOUT = 20.0


def test_a_site_that_was_cut_off_for_a_minute_takes_part_again(tmp_path: Path) -> None:
    with lab(3) as machines, deployed(tmp_path, CLASSES, 30, machines.hosts[0], machines.hosts[1:]) as deployment:
        run = deployment.start_run(
            "cut",
            *("--preset", "zero-mean", "--rounds", "1000", "--clients-per-round", "2", "--set", "min-clients=2"),
            *("--set", f"round-timeout={TIMEOUT:g}", "--set", "evaluate-every=1", "--set", "personalise=false"),
        )
        before = wait_for(lambda: deployment.rounds("cut"), 120.0, "a round")[-1]["round"]
        machines.cut(deployment.hosts[CUT])
        began = time.monotonic()
        failed = wait_for(
            lambda: [r for r in deployment.rounds("cut") if r["round"] > before and CUT in r["failed"]],
            TIMEOUT + 60.0,
            "a round that names the site",
        )[0]
        assert failed["ok"] == 1
        alone = wait_for(
            lambda: [r for r in deployment.rounds("cut") if r["round"] > failed["round"] and CUT not in r["sampled"]],
            60.0,
            "rounds without it",
        )[0]
        assert alone["ok"] == 1
        assert alone["seconds"]["round"] < TIMEOUT
        time.sleep(max(0.0, began + CUT_SECONDS - time.monotonic()))
        machines.join(deployment.hosts[CUT])
        joined = deployment.rounds("cut")[-1]["round"]
        wait_for(
            lambda: [
                r
                for r in deployment.rounds("cut")
                if r["round"] > joined and CUT in r["sampled"] and r["ok"] == 2 and not r["validation_failed"]
            ],
            180.0,
            "a round with both",
        )
        assert deployment.sites[CUT].process.poll() is None
        assert deployment.stop_run("cut").returncode == 0
        assert run.ends(60.0) == 1
        assert "Traceback" not in deployment.sites[CUT].text + run.text
