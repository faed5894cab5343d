r"""Nodes that answer, and are trained, as if all classes of a client were equally frequent.

Of k_l and k_r classes on the two sides of a node with n_l and n_r points, a GP answers for the shares p of these:

.. math::
    \frac{P'(\text{left})}{P'(\text{right})} = \frac{\pi}{1 - \pi} \, \frac{q_l \, p_r}{q_r \, p_l},
    \qquad q_l = \frac{k_l}{k_l + k_r}, \quad p_l = \frac{n_l}{n_l + n_r}, \quad \pi = P(\text{left})

Where the inputs say nothing, pi is p_l and each class gets 1 / k. With two classes it is Bayes' rule for equal shares,
the correction of `pfedgp_core.site.prior`. In training a held-out point weighs as the inverse number of its class, so
that the loss is the risk of just that function under equal shares.
"""

import math

import numpy as np

from pfedgp_core.tree.variants.base import Sides

__all__ = ["BALANCED", "balanced_ratio", "balanced_weights"]

BALANCED = "balanced"


def balanced_ratio(node: Sides, left: int, right: int) -> tuple[float, float] | None:
    """(log q_l / p_l, log q_r / p_r) of a node.

    Parameters
    ----------
    node : Sides
    left, right : int
        Points on the two sides that its GP is conditioned on. Where a side has none there is no correction: None.
    """
    if not left or not right:
        return None
    classes, points = len(node.left) + len(node.right), left + right
    return (
        math.log(len(node.left) / classes) - math.log(left / points),
        math.log(len(node.right) / classes) - math.log(right / points),
    )


def balanced_weights(labels: np.ndarray) -> np.ndarray:
    """Weights float32 [T] of points with these classes [T]: each class weighs the same, and the mean is 1."""
    _, position, counts = np.unique(labels, return_inverse=True, return_counts=True)
    weights: np.ndarray = (len(labels) / (len(counts) * counts[position])).astype(np.float32)
    return weights
