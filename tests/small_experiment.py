"""A small experiment on the digits, and made-up results of its cells."""

from pathlib import Path
from typing import Any

from pfedgp.experiments.cells import Cell
from pfedgp.experiments.reading import read_experiment
from pfedgp.experiments.specification import Experiment

__all__ = ["TEXT", "made_up", "small_experiment", "written"]

TEXT = """
title = "Digits & co"
place = "Table 9"
seeds = [0, 1]

[settings]
clients = 5
rounds = 2
clients-per-round = 2
evaluate-every = 2

[search]
candidates = 2
seed = 7

[columns.two]
title = "2 classes"
settings = { classes-per-client = 2 }

[columns.five]
title = "5 classes"
settings = { clients = 4, classes-per-client = 5 }

[rows.full]
title = "pFedGP"
settings = { local-epochs = 1 }
paper = { two = [90.0, 0.3], five = 80.0 }

[rows.fedavg]
title = "FedAvg"
settings = { method = "fedavg" }
grid = { learning-rate = [0.1, 0.05] }
at = { five = { rounds = 3 } }
"""


def written(folder: Path, text: str = TEXT, name: str = "small") -> Path:
    """The file of an experiment."""
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def small_experiment(folder: Path, text: str = TEXT) -> Experiment:
    """The experiment, read."""
    return read_experiment(written(folder, text))


def made_up(cell: Cell, accuracy: float, **changed: Any) -> dict[str, Any]:
    """A completed result with this accuracy."""
    metrics = {"accuracy": accuracy, "own_accuracy": accuracy, "own_ece": 0.02, "own_nll": 0.3, "test_samples": 400}
    costs = {"gradients": 20, "bytes_sent": 600, "bytes_received": 400, "cpu_seconds": 3.0, "seconds": 5.0}
    return {
        "row": cell.row,
        "column": cell.column,
        "seed": cell.seed,
        "candidate": cell.candidate,
        "status": "completed",
        "metrics": metrics,
        "validation": accuracy,
        "better": "larger",
        "rounds": cell.settings.rounds,
        "best_round": 1,
        "curve": [{"round": 2, "accuracy": accuracy, "nll": None, "gradients": 20, "bytes": 1000, "cpu": 2.5}],
        "costs": costs,
        "settings": {"best-classes": cell.settings.best_classes},
        "commit": "abc",
        "pfedgp": "0",
        "machine": {"processor": "P", "cores": 2, "torch": "2"},
    } | changed
