"""The softmax head that clients share: what the federation knows of the classes, as logits of a network's features."""

import torch
from torch import Tensor, nn

__all__ = ["SharedHead"]


class SharedHead(nn.Linear):
    """Logits W relu(phi) + b; zero before round 1, which gives all classes equal odds.

    Parameters
    ----------
    width : int
        d, of the features.
    classes : int
        K, of the federation.
    """

    def __init__(self, width: int, classes: int) -> None:
        super().__init__(width, classes)
        nn.init.zeros_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, features: Tensor) -> Tensor:
        """Shapes: [N, d] -> [N, K], in the type of the features."""
        logits: Tensor = super().forward(torch.relu(features).to(self.weight))
        return logits.to(features)
