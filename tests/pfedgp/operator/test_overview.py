"""The overview of a server and its sites."""

from pathlib import Path

import pytest

from pfedgp.operator.connection import Target
from pfedgp.operator.control import SuperNode
from pfedgp.operator.overview import _connection, _site, printed, server_facts
from pfedgp.operator.state import ServerState

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pathspec.*")


@pytest.mark.parametrize(
    ("online", "changed", "heard", "said"),
    [
        (True, "2026-11-28T07:40:00.5+00:00", 150.0, "connected, last connected 2026-11-28T07:40:00"),
        (True, "2026-11-28T07:40:00.5+00:00", 50.0, "not connected, last heard of 1970-01-01T00:00:50"),
        (False, "2026-11-28T07:46:22.5+00:00", 150.0, "not connected since 2026-11-28T07:46:22 at the latest"),
        (False, "", 0.0, "not connected"),
    ],
)
def test_a_site_is_not_said_to_be_seen_after_its_death(online: bool, changed: str, heard: float, said: str) -> None:
    assert _connection(_site(SuperNode(1, "ward-1", online, changed, b"", heard), 100.0)) == said


def test_the_overview_of_a_server_elsewhere_needs_no_server_here(tmp_path: Path) -> None:
    target = Target("control:8000", tmp_path / "ca.crt", ServerState(tmp_path), "", False)
    assert server_facts(target)["fleet_address"] is None


@pytest.mark.parametrize("on", ["test", "validation"])
def test_the_accuracy_of_a_run_says_on_which_data(on: str) -> None:
    server = {"control_address": "a:1", "pid": None, "certificate_until": None}
    run = {"name": "first", "id": "7", "status": "running", "round": 3, "rounds": 9, "folder": "/runs/first"}
    run |= {"accuracy": 0.972, "accuracy_on": on, "resumed_as": None, "reason": ""}
    assert f"  first (7): running, round 3 of 9, {on} accuracy 97.2 %" in printed(
        {"server": server, "sites": [], "runs": [run]}
    )
