"""Classifiers on drawn samples, for tests of certificates."""

from typing import Any

import numpy as np
import torch

from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.classifier import PersonalClassifier
from pfedgp_core.tree.splits import Tree

DENSE = Settings(gp=GPSettings(predict_chains=8, solver="dense"))


def sample(n: int, k: int, seed: int = 0, spread: float = 0.25) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(k), rng.integers(0, k, n - k)]
    return (np.eye(6)[y] + spread * rng.normal(size=(n, 6))).astype(np.float32), y


def fitted(n: int, k: int, settings: Settings = DENSE, **options: Any) -> tuple[PersonalClassifier, np.ndarray]:
    x, y = sample(n, k)
    return PersonalClassifier(settings, Stream(3, "test"), **options).fit(x, y), y


def parts(classifier: PersonalClassifier, y: np.ndarray) -> tuple[Tree, list, torch.Tensor]:
    nodes = [(known.gp, omega) for known, omega in classifier.nodes_]
    return classifier.tree_, nodes, torch.from_numpy(np.searchsorted(classifier.classes_, y))
