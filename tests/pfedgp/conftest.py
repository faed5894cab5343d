"""A server that was killed, and a simulation that only keeps its settings."""

import sys
import types
from pathlib import Path

import pytest

from pfedgp.operator.authority import issue
from pfedgp.operator.state import ServerState
from tests.pfedgp.recorded_runs import Runs


@pytest.fixture
def stopped(tmp_path: Path) -> ServerState:
    """The state folder of a server that was killed."""
    issue(tmp_path / "certs", ["fl.example.org"], ["ward-1"])
    state = ServerState(tmp_path / "state")
    state.prepare()
    state.make_secret()
    state.write_server(
        {
            "pid": 1,
            "fleet_address": "0.0.0.0:1",
            "control_address": "127.0.0.1:2",
            "ca": str(tmp_path / "certs" / "ca.crt"),
            "certs": str(tmp_path / "certs"),
            "database": False,
            "started": "2026-01-01T00:00:00+00:00",
            "versions": {"flwr": "1.0"},
            "processes": {"superlink": 2**22 + 1},
        }
    )
    return state


@pytest.fixture
def tracebacks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tracebacks")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tracebacks: Path) -> Runs:
    module, runs = types.ModuleType("pfedgp.local.simulation"), Runs()
    module.run_simulation = runs.run_simulation  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pfedgp.local.simulation", module)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tracebacks))
    monkeypatch.delenv("PFEDGP_DEBUG", raising=False)
    return runs
