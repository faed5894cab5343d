"""The operator's page of a real deployment: a run, a site that leaves, a new certificate, a killed server."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from pfedgp.dashboard.metrics import exposition
from pfedgp.dashboard.watch import Watch
from pfedgp.operator.state import ServerState
from tests.deploy.deployment import Deployment, deployed
from tests.waiting import wait_for

pytestmark = pytest.mark.slow

WARDS = {"ward-1": (0, 1), "ward-2": (2, 3), "ward-3": (4, 5)}


def watch(made: Deployment) -> Watch:
    return Watch(ServerState(made.state))


def live(snapshot: dict[str, Any]) -> dict[str, Any] | None:
    """The run under way, once it has done a round."""
    return next((run for run in snapshot["runs"] if run["live"] and run["round"]), None)


def words(snapshot: dict[str, Any]) -> str:
    return " ".join(item["text"] for item in snapshot["attention"])


def test_a_deployment_is_shown_as_it_is(tmp_path: Path) -> None:
    with deployed(tmp_path, WARDS, per_class=10) as made:
        page = watch(made)
        snapshot = page.look()
        assert snapshot["headline"]["text"] == "All is well: 3 of 3 sites connected, no run under way."
        assert set(snapshot["server"]["processes"]) == {"superlink", "superexec"}
        assert [row["name"] for row in snapshot["certificates"]] == ["server.crt", "ca.crt"]  # it shows its own

        run = made.start_run("first", "--rounds", "12", "--clients-per-round", "2", "--set", "min-clients=3")
        shown = wait_for(lambda: live(page.look()), 180.0, "the run is shown")
        assert (shown["name"], shown["status"], shown["rounds"]) == ("first", "running", 12)
        assert run.ends(300.0) == 0, run.text
        snapshot = page.look()
        assert snapshot["attention"] == []
        (done,) = snapshot["runs"]
        assert (done["status"], done["round"], done["live"]) == ("completed", 12, False)
        assert done["score"] == made.summary("first")["accuracy"]
        assert [(row["run"], row["onboarded"], row["failed"]) for row in snapshot["publications"]] == [("first", 3, 0)]
        assert b"pfedgp_sites_connected 3.0" in exposition(snapshot, page.found)

        assert made.sites["ward-2"].stop() == 0
        wait_for(lambda: "not connected: ward-2" in words(page.look()), 90.0, "the site that left is named")

        renewed = made.call("certs", "--renew-server", "--out", str(made.certs))
        assert renewed.returncode == 0, renewed.stderr
        assert "still shows another certificate" in words(watch(made).look())

        assert made.server is not None
        os.killpg(made.server.pid, signal.SIGKILL)
        wait_for(lambda: "The server does not run." in words(page.look()), 60.0, "the killed server is named")
        assert page.look()["runs"][0]["status"] == "completed"
