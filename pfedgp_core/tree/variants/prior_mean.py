r"""The prior mean of a tree's latent functions: the log odds of a softmax head that the federation shares.

A head with logits l_c(x) puts the mean

.. math::
    m(x) = \log \sum_{c \in \text{left}} e^{l_c(x)} - \log \sum_{c \in \text{right}} e^{l_c(x)}

on the node that separates the classes on its left from those on its right. As sigma(m) = P(left | left or right), the
products along the paths are the head's softmax over the classes of the tree: a client without samples near x answers as
the federation does, and the Gaussian process is what its own samples change. The paper has m = 0.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from pfedgp_core.tree.variants.base import Sides

__all__ = ["LogitsOf", "node_log_odds"]

LogitsOf = Callable[[Tensor], Tensor]  # from raw features [T, d] to logits [T, K] of all classes of the federation


def node_log_odds(logits: Tensor, node: Sides) -> Tensor:
    """The prior mean [T] at a node, from logits [T, k] of the tree's classes; differentiable."""
    left, right = (logits[:, list(side)] for side in (node.left, node.right))
    return torch.logsumexp(left, 1) - torch.logsumexp(right, 1)
