"""A small model as a run leaves it, and data of sites that it fits."""

from pathlib import Path
from typing import Any

import numpy as np

from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.data.datasets import load_dataset
from pfedgp_core.model.shared import SharedState
from server.run.artefacts import RunFolder

MODEL_SETTINGS = Settings(clients=5, clients_per_round=2, unseen_clients=1, feature_dim=8, gp=GPSettings(sweeps=2))


def save_digits_model(run: Path, **changes: Any) -> Path:
    """Write an untrained model of the digits federation and return its folder."""
    settings = MODEL_SETTINGS.replace(**changes)
    dataset = load_dataset("digits")
    meta = {
        "round": 3,
        "class_names": list(dataset.class_names),
        "input_shape": list(dataset.input_shape),
        "normalisation": {"mean": dataset.mean.tolist(), "std": dataset.std.tolist()},
        "clients": ["ward-3", "client-00"],
        "settings": settings.to_run_config(),
    }
    vector = SharedState.initial(settings, dataset.input_shape, 10).to_vector()
    run.mkdir(parents=True)
    RunFolder(run, {}).save_model("best", vector, meta)
    return run / "best"


def save_digits(path: Path, classes: tuple[int, ...], n: int = 12) -> Path:
    """Write the first `n` digits of each class as a site's own data."""
    train = load_dataset("digits").train
    rows = np.concatenate([np.flatnonzero(train.labels == c)[:n] for c in classes])
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, images=train.inputs[rows], labels=train.labels[rows])
    return path
