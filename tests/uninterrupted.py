"""Runs that nobody killed, made once a session, and what a killed one must have in common with them."""

import functools
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

from flwr.supercore.task_identity import TaskIdentity

from pfedgp_core.config import Settings
from server.outputs import Outputs
from server.run.model_file import load_model
from tests.federation_run import SMALL, Run, federate

__all__ = ["MODES", "SETTINGS", "same", "uninterrupted", "without_pictures"]

SETTINGS = SMALL.replace(rounds=4, clients_per_round=2)
MODES = {"one exchange": True, "separate": False}  # whether the grid is that of a deployment


def without_pictures(monkeypatch: Any) -> None:
    """Leave out pictures and reports, which take most of the time of such short runs."""
    monkeypatch.setattr(Outputs, "reporters", lambda self: [])
    monkeypatch.setattr("server.final_results.write_pictures", lambda *arguments: None)


@functools.cache
def uninterrupted(settings: Settings, deployed: bool) -> Run:
    """The run of these settings that reached its end by itself."""
    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
    path = Path(_FOLDER.name) / str(len(list(Path(_FOLDER.name).iterdir())))
    with mock.patch.object(Outputs, "reporters", return_value=[]):
        return federate(settings, path, deployed=deployed)


_FOLDER = tempfile.TemporaryDirectory(prefix="pfedgp-uninterrupted-")


def same(run: Run, other: Run) -> bool:
    """Assert that two runs have left the same, but for what depends on the clock."""
    for which in ("best", "final"):
        # The file itself is no measure: the order of the entries in its header is not fixed.
        kept, wanted = load_model(run.path / which), load_model(other.path / which)
        assert kept[0].tobytes() == wanted[0].tobytes(), which
        assert kept[1] == wanted[1], which
    for name in ("best/meta.json", "final/meta.json", "clients.csv", "calibration.json", "partition.json"):
        assert (run.path / name).read_text() == (other.path / name).read_text(), name
    assert run.lasting == other.lasting
    clock = {"seconds", "cpu_seconds", "gp_share", "network_share", "run"}
    kept = [{key: value for key, value in r.summary.items() if key not in clock} for r in (run, other)]
    assert kept[0] == kept[1]
    assert not list(run.path.rglob("*.partial"))
    return True
