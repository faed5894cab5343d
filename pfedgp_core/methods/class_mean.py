"""Floor: the nearest class mean on pFedGP's features."""

import numpy as np
from torch import Tensor

from pfedgp_core.floors.class_mean import ClassMeans
from pfedgp_core.methods.on_features import OnFeatures

__all__ = ["ClassMean"]


class ClassMean(OnFeatures):
    """``class-mean.distance`` from the mean of each class, times ``class-mean.scale``, in a softmax."""

    name = "class-mean"

    def classifier(self, received: np.ndarray, features: Tensor, labels: Tensor) -> ClassMeans:
        """See ``OnFeatures.classifier``."""
        return ClassMeans(features, labels, float(self.option("scale")), str(self.option("distance")))
