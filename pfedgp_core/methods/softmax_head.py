"""Floor: logistic regression over each client's own classes on pFedGP's features."""

import numpy as np
from torch import Tensor

from pfedgp_core.floors.base import ScaledFeatures
from pfedgp_core.floors.softmax_head import SoftmaxHead
from pfedgp_core.methods.on_features import OnFeatures

__all__ = ["SoftmaxHeadOnFeatures"]


class SoftmaxHeadOnFeatures(OnFeatures):
    """``softmax-head.steps`` steps of ``softmax-head.rate`` on the features times ``softmax-head.scale``."""

    name = "softmax-head"

    def classifier(self, received: np.ndarray, features: Tensor, labels: Tensor) -> ScaledFeatures:
        """See ``OnFeatures.classifier``."""
        scale, rate, l2 = (float(self.option(key)) for key in ("scale", "rate", "l2"))
        return ScaledFeatures(SoftmaxHead(scale * features, labels, rate, int(self.option("steps")), l2), scale)
