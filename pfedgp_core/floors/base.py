"""The interface of a classifier on features, and the classes that it knows."""

from typing import Protocol

import numpy as np
import torch
from torch import Tensor

__all__ = ["FeatureClassifier", "ScaledFeatures", "class_means", "class_places"]


class FeatureClassifier(Protocol):
    """A classifier that was fitted to features [N, d] and labels [N]."""

    @property
    def classes_(self) -> np.ndarray:
        """Sorted class ids of its training data, int64 [k]; the columns of `log_probabilities`."""

    def log_probabilities(self, features: Tensor) -> Tensor:
        """Shapes: [T, d] -> [T, k]; each row's exponentials sum to 1."""


def class_places(labels: Tensor) -> tuple[np.ndarray, Tensor]:
    """The sorted classes [k] of labels [N], and for each label its place among them, int64 [N]."""
    classes, places = labels.unique(sorted=True, return_inverse=True)
    return classes.cpu().numpy().astype(np.int64), places


def class_means(features: Tensor, places: Tensor, count: int) -> Tensor:
    """The mean of the features [N, d] of each class, [count, d]; every class has at least one."""
    sums = torch.zeros(count, features.shape[1], dtype=features.dtype, device=features.device)
    sums.index_add_(0, places, features)
    return sums / torch.bincount(places, minlength=count)[:, None]


class ScaledFeatures:
    """A classifier that was fitted to features times a factor, on features without it."""

    def __init__(self, classifier: FeatureClassifier, scale: float) -> None:
        self._classifier, self._scale = classifier, scale

    @property
    def classes_(self) -> np.ndarray:
        """See `FeatureClassifier`."""
        return self._classifier.classes_

    def log_probabilities(self, features: Tensor) -> Tensor:
        """See `FeatureClassifier`."""
        return self._classifier.log_probabilities(self._scale * features)
