r"""Class-ratio correction of a node's probabilities (paper, eq. 10): from the ratio that the GP saw to the client's own.

.. math::
    q(y | x) \propto \frac{q(y)}{p(y)} \, p(y | x)

p counts what the GP was conditioned on (inducing inputs, and at prediction the client's data as well), q what the client
has. Exact where both differ in the class probabilities only and the classifier is calibrated for p.
"""

import math

import torch
from torch import Tensor

__all__ = ["apply_class_ratio", "log_class_ratio"]


def log_class_ratio(
    own_left: int, own_right: int, seen_left: int, seen_right: int, smoothing: float = 1.0
) -> tuple[float, float]:
    """log q/p of left and of right.

    Parameters
    ----------
    own_left, own_right : int
        The client's own points on each side: q.
    seen_left, seen_right : int
        Points that the GP is conditioned on: p.
    smoothing : float
        Added to every count. With 0 a side on which the client has no point gets probability 0 for ever.
    """
    q = _log_shares(own_left + smoothing, own_right + smoothing)
    p = _log_shares(seen_left + smoothing, seen_right + smoothing)
    return q[0] - p[0], q[1] - p[1]


def apply_class_ratio(log_left: Tensor, log_right: Tensor, ratio_left: float, ratio_right: float) -> tuple[Tensor, Tensor]:
    """Add the log ratios to the log-probabilities [T] of both sides and renormalise."""
    left, right = log_left + ratio_left, log_right + ratio_right
    total = torch.logaddexp(left, right)
    return left - total, right - total


def _log_shares(left: float, right: float) -> tuple[float, float]:
    total = left + right
    return _log(left / total), _log(right / total)


def _log(share: float) -> float:
    return math.log(share) if share else -math.inf
