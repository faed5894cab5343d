"""Nearest class mean: the classes' mean features are all that is fitted."""

import torch
from torch import Tensor

from pfedgp_core.floors.base import class_means, class_places

__all__ = ["DISTANCES", "ClassMeans"]

DISTANCES = ("cosine", "euclidean")


class ClassMeans:
    """Probabilities by the distance from the means of the classes.

    Parameters
    ----------
    features : Tensor [N, d]
    labels : Tensor [N]
    scale : float
        Factor on what enters the softmax.
    distance : {"cosine", "euclidean"}
        The cosine with the mean of the normalised features; or minus half the squared distance from the mean.

    Attributes
    ----------
    classes_ : int64 array [k]
    means : Tensor [k, d]
        Of the features as they are.
    """

    def __init__(self, features: Tensor, labels: Tensor, scale: float = 1.0, distance: str = "cosine") -> None:
        self.classes_, places = class_places(labels)
        self.means = class_means(features, places, len(self.classes_))
        self._scale, self._cosine = scale, distance == "cosine"
        if self._cosine:
            self._centres = _directions(class_means(_directions(features), places, len(self.classes_)))

    def log_probabilities(self, features: Tensor) -> Tensor:
        """See `FeatureClassifier`."""
        if self._cosine:
            return torch.log_softmax(self._scale * (_directions(features) @ self._centres.T), 1)
        squared = (features[:, None] - self.means).square().sum(2)
        return torch.log_softmax(-0.5 * self._scale * squared, 1)


def _directions(features: Tensor) -> Tensor:
    return torch.nn.functional.normalize(features, dim=1)
