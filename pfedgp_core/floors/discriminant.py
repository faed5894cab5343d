"""Linear discriminant analysis: Gaussian classes with one covariance, which may come from elsewhere."""

import torch
from torch import Tensor

from pfedgp_core.floors.base import class_means, class_places

__all__ = ["Discriminant", "whitening", "within_covariance"]


class Discriminant:
    """Own means and shares of the classes, under a covariance that all classes share.

    Parameters
    ----------
    features : Tensor [N, d]
    labels : Tensor [N]
    covariance : Tensor [d, d]
        Of the features within a class.
    shrinkage : float
        Part of it, from 0 to 1, that is replaced by its mean variance in every direction.

    Attributes
    ----------
    classes_ : int64 array [k]
    """

    def __init__(self, features: Tensor, labels: Tensor, covariance: Tensor, shrinkage: float) -> None:
        self.classes_, places = class_places(labels)
        counts = torch.bincount(places, minlength=len(self.classes_))
        # In float64: a covariance of few samples is nearly singular.
        means = class_means(features.double(), places, len(self.classes_))
        self._weight = torch.linalg.solve(_shrunk(covariance.double(), shrinkage), means.T)
        self._bias = (counts / len(labels)).double().log() - 0.5 * (means.T * self._weight).sum(0)

    def log_probabilities(self, features: Tensor) -> Tensor:
        """See `FeatureClassifier`."""
        return torch.log_softmax(features.double() @ self._weight + self._bias, 1)


def within_covariance(features: Tensor, labels: Tensor) -> Tensor | None:
    """The covariance within the classes [d, d]; None where no class has two samples more than it has means."""
    classes, places = class_places(labels)
    freedom = len(labels) - len(classes)
    if freedom < 1:
        return None
    offsets = features - class_means(features, places, len(classes))[places]
    return offsets.T @ offsets / freedom


def whitening(covariance: Tensor, shrinkage: float) -> Tensor:
    """The symmetric matrix, float64 [d, d], that takes features to ones whose shrunk covariance is the identity."""
    values, directions = _spectrum(covariance.double(), shrinkage)
    root: Tensor = (directions * values.rsqrt()) @ directions.T
    return root


def _shrunk(covariance: Tensor, shrinkage: float) -> Tensor:
    values, directions = _spectrum(covariance, shrinkage)
    restored: Tensor = (directions * values) @ directions.T
    return restored


def _spectrum(covariance: Tensor, shrinkage: float) -> tuple[Tensor, Tensor]:
    """Eigenvalues and vectors after shrinking: positive whatever came in, as noise on it may have taken that away."""
    values, directions = torch.linalg.eigh((covariance + covariance.T) / 2)
    mean = values.clamp(min=0).mean().clamp(min=1e-12)
    values = (1 - shrinkage) * values.clamp(min=0) + shrinkage * mean
    return values.clamp(min=1e-6 * float(mean)), directions
