"""Nearest neighbours in feature space, weighed by their distance."""

import torch
from torch import Tensor

from pfedgp_core.floors.base import class_places

__all__ = ["Neighbours"]

ROWS = 2048  # test points at a time


class Neighbours:
    """Each of the k nearest samples speaks for its class with weight exp(-distance / scale).

    Parameters
    ----------
    features : Tensor [N, d]
    labels : Tensor [N]
    count : int
        k; all samples where there are fewer.
    scale : float
        Distance over which a neighbour's weight falls to 1/e.

    Attributes
    ----------
    classes_ : int64 array [k]
    """

    def __init__(self, features: Tensor, labels: Tensor, count: int, scale: float) -> None:
        self.classes_, self._places = class_places(labels)
        self._features, self._count, self._scale = features, min(count, len(labels)), scale

    def log_probabilities(self, features: Tensor) -> Tensor:
        """See `FeatureClassifier`; minus infinity for a class that no neighbour has."""
        return torch.cat([self._of(rows) for rows in features.split(ROWS)])

    def _of(self, features: Tensor) -> Tensor:
        distances = torch.cdist(features.double(), self._features.double())
        nearest, rows = distances.topk(self._count, dim=1, largest=False)
        shares = torch.softmax(-nearest / self._scale, 1)
        votes = torch.zeros(len(features), len(self.classes_), dtype=shares.dtype, device=shares.device)
        return votes.scatter_add_(1, self._places[rows], shares).log()
