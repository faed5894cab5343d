"""Folders of runs as `pfedgp simulate` leaves them, as far as a comparison reads them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pfedgp_core.config import Settings
from server.run.run_config import config_text

__all__ = ["write_run"]


def write_run(
    path: Path, accuracies: Sequence[float], settings: Mapping[str, Any] | None = None, **summary: Any
) -> Path:
    """A run whose clients have these accuracies, and a negative log-likelihood of one minus these."""
    path.mkdir(parents=True)
    rows = [f"client-{i:02},0;1,20,10,1,1,{a!r},{1 - a!r}" for i, a in enumerate(accuracies)]
    head = "name,classes,n_train,n_test,rounds_trained,last_trained_round,accuracy,nll"
    (path / "clients.csv").write_text("\n".join([head, *rows]) + "\n")
    mean = sum(accuracies) / len(accuracies)
    about = {
        "status": "completed",
        "accuracy": mean,
        "nll": 1 - mean,
        "validation_accuracy": 0.5,
        "intervals": {"accuracy": {"low": mean - 0.1, "high": mean + 0.05, "over": "samples"}},
        "rounds": 3,
        "partition_hash": "a",
        "dataset": "digits",
    } | summary
    (path / "config.toml").write_text(
        config_text(Settings.from_run_config(dict(settings or {})), {"data": about["dataset"]})
    )
    (path / "summary.json").write_text(json.dumps(about))
    return path
