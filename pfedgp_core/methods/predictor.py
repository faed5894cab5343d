"""The result of every method at a client: class probabilities of raw inputs."""

from collections import Counter
from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import numpy as np

from pfedgp_core.data.pixels import Inputs

__all__ = ["LeavesOneOut", "Predictor"]


class Predictor(Protocol):
    """A client's personal classifier on raw inputs."""

    @property
    def classes_(self) -> np.ndarray:
        """Sorted class ids, int64 [k]; the columns of `predict_proba`."""

    @property
    def counters_(self) -> Counter[str]:
        """Recoverable events by name."""

    @property
    def seconds_(self) -> Mapping[str, float]:
        """Seconds by phase (``network``, ``gp``)."""

    def predict_proba(self, inputs: Inputs) -> np.ndarray:
        """Class probabilities, float64 [T, k], of inputs [T, ...]; every row sums to 1."""


@runtime_checkable
class LeavesOneOut(Protocol):
    """A predictor that can also say what it would have predicted for its training data without the sample itself."""

    def leave_one_out_log_proba(self) -> np.ndarray:
        """Log class probabilities of every training sample given all others, float64 [N, k]."""
