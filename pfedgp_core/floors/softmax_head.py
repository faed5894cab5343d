"""Logistic regression on features over a client's own classes: full-batch gradient descent from zeros."""

import torch
from torch import Tensor, nn

from pfedgp_core.floors.base import class_places

__all__ = ["SoftmaxHead"]


class SoftmaxHead:
    """The loss is convex, so the head does not depend on the order of the samples.

    Parameters
    ----------
    features : Tensor [N, d]
    labels : Tensor [N]
    rate : float
        Step size.
    steps : int
        0 leaves equal probabilities.
    l2 : float
        Weight decay of the weights; the biases have none.

    Attributes
    ----------
    classes_ : int64 array [k]
    weight : Tensor [k, d]
    bias : Tensor [k]
    """

    def __init__(self, features: Tensor, labels: Tensor, rate: float, steps: int, l2: float = 0.0) -> None:
        self.classes_, places = class_places(labels)
        target = nn.functional.one_hot(places, len(self.classes_)).to(features.dtype) / len(labels)
        self.weight = torch.zeros(len(self.classes_), features.shape[1], dtype=features.dtype, device=features.device)
        self.bias = torch.zeros_like(self.weight[:, 0])
        for _ in range(steps):
            slopes = torch.softmax(self._logits(features), 1) / len(labels) - target
            self.weight -= rate * (slopes.T @ features + l2 * self.weight)
            self.bias -= rate * slopes.sum(0)

    def log_probabilities(self, features: Tensor) -> Tensor:
        """See `FeatureClassifier`."""
        return torch.log_softmax(self._logits(features), 1)

    def _logits(self, features: Tensor) -> Tensor:
        return nn.functional.linear(features, self.weight, self.bias)
