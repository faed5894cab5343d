"""Runs the real ServerApp on a FakeGrid and reads back what it left."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Context, RecordDict

from client.client_app import app as client_app
from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.model.shared import SharedState
from server.run.model_file import load_model
from server.run.settings import read_settings_file
from server.server_app import serve
from tests.fakegrid import FakeGrid, Tamper

# Small enough for a round in a tenth of a second, large enough to learn.
QUICK = GPSettings(train_chains=6, predict_chains=6, sweeps=3, predict_sweeps=3, quadrature=16)
SMALL = Settings(
    clients=5, clients_per_round=3, rounds=3, evaluate_every=2, train_samples=200, wait_timeout=20.0, gp=QUICK
)


def initial_model(settings: Settings = SMALL) -> np.ndarray:
    """The vector before round 1."""
    return SharedState.initial(settings, (1, 8, 8), 10).to_vector()


@dataclass
class Run:
    """The artefacts of a run."""

    path: Path

    @property
    def records(self) -> list[dict[str, Any]]:
        """Lines of metrics.jsonl."""
        return [json.loads(line) for line in (self.path / "metrics.jsonl").read_text().splitlines()]

    @property
    def summary(self) -> dict[str, Any]:
        """The summary.json."""
        return json.loads((self.path / "summary.json").read_text())

    def model(self, which: str) -> np.ndarray:
        """The vector of the best or final model."""
        return load_model(self.path / which)[0]

    @property
    def lasting(self) -> list[dict[str, Any]]:
        """Records without what depends on the clock."""
        return [{key: value for key, value in record.items() if key != "seconds"} for record in self.records]


def start(grid: FakeGrid, settings: Settings, out: Path) -> Run:
    """Run the server app on `grid`."""
    run_config = settings.to_run_config() | {"out": str(out)}
    serve(grid, Context(1, 1, {}, RecordDict(), dict(run_config)), grid.engine)
    return Run(out)


def federate(settings: Settings, out: Path, tamper: Tamper | None = None, deployed: bool = False) -> Run:
    """Run a federation of as many nodes as `settings` has clients."""
    return start(FakeGrid(client_app, settings.clients, tamper, deployed=deployed), settings, out)


def resume(out: Path, tamper: Tamper | None = None, deployed: bool = False, **given: Any) -> Run:
    """Go on with the run in `out`, with new nodes; `given` are keys of the run config."""
    clients = Settings.from_run_config(read_settings_file(out / "config.toml")).clients
    grid = FakeGrid(client_app, clients, tamper, deployed=deployed)
    serve(grid, Context(2, 1, {}, RecordDict(), {"resume": str(out), **given}), grid.engine)
    return Run(out)
