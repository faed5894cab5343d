"""The softmax head that clients share: what the federation knows of the classes, as logits of a network's features."""

import numpy as np
import torch
from torch import Tensor, nn

from pfedgp_core.numerics.streams import Stream

__all__ = ["SharedHead", "random_start", "zero_start"]


def random_start(head: nn.Linear, seed: int) -> None:
    """Give a head its values before round 1: torch's own range for a linear layer, from a stream of ours.

    A network learns slowly below a head of zeros, through which no gradient passes.
    """
    bound, rng = head.in_features**-0.5, Stream(seed, "initial-head").numpy
    with torch.no_grad():
        for p in (head.weight, head.bias):
            p.copy_(torch.from_numpy(rng.uniform(-bound, bound, tuple(p.shape)).astype(np.float32)))


def zero_start(head: nn.Linear) -> None:
    """Give a head the values by which all classes are equally likely."""
    for p in (head.weight, head.bias):
        nn.init.zeros_(p)


class SharedHead(nn.Linear):
    """Logits W relu(phi) + b; zero until a start or a received model is written into it.

    Parameters
    ----------
    width : int
        d, of the features.
    classes : int
        K, of the federation.
    """

    def __init__(self, width: int, classes: int) -> None:
        super().__init__(width, classes)
        zero_start(self)

    def forward(self, features: Tensor) -> Tensor:
        """Shapes: [N, d] -> [N, K], in the type of the features."""
        logits: Tensor = super().forward(torch.relu(features).to(self.weight))
        return logits.to(features)
