r"""Class-ratio correction of a node's probabilities (paper, eq. 10): from the ratio the GP saw to the client's own.

With p the shares of the two sides among the points that the GP is conditioned on (inducing inputs, and at prediction
the client's data as well) and q their shares in the client's data:

.. math::
    P'(\text{left}) = \frac{\pi \, q_l / p_l}{\pi \, q_l / p_l + (1 - \pi) \, q_r / p_r}, \qquad \pi = P(\text{left})

It is exact where the classes look alike on both sources and the classifier is calibrated for p; for a GP it is a
heuristic. In log space, with smoothed q, so that a side without data keeps a small probability instead of none.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from pfedgp_core.errors import DataError

__all__ = ["apply_class_ratio", "log_class_ratio"]


def log_class_ratio(
    own_left: int, own_right: int, seen_left: int, seen_right: int, smoothing: float = 1.0
) -> tuple[float, float]:
    """Return (log q_l / p_l, log q_r / p_r) of a node.

    q_side = (own_side + smoothing) / (own + 2 smoothing) and p_side = seen_side / seen. Only q, an estimate of what the
    client will meet, is smoothed; p is what the model was given, and is known.

    Parameters
    ----------
    own_left, own_right : int
        The client's own points on either side.
    seen_left, seen_right : int
        Points that the GP is conditioned on, at least one a side.
    smoothing : float
        Pseudo-counts a side; 0 is the paper's literal formula, -inf for a side without data.

    Raises
    ------
    DataError
        The GP has seen nothing of a side, a number is negative, or there is no data and no smoothing.
    """
    if min(own_left, own_right, smoothing) < 0 or min(seen_left, seen_right) < 1:
        raise DataError(
            f"The class ratio of {own_left} left and {own_right} right points, by a GP that has seen {seen_left} and "
            f"{seen_right} (smoothing {smoothing:g}), is not defined; leave out a node that has seen one side only."
        )
    own, seen = own_left + own_right + 2 * smoothing, seen_left + seen_right
    if not own:
        raise DataError("The class ratio of a node without data is not defined; use smoothing = 1.")
    return (
        _log((own_left + smoothing) / own) - math.log(seen_left / seen),
        _log((own_right + smoothing) / own) - math.log(seen_right / seen),
    )


def apply_class_ratio(
    log_left: Tensor, log_right: Tensor, log_ratio_left: float, log_ratio_right: float
) -> tuple[Tensor, Tensor]:
    """Correct the log-probabilities of both sides and renormalise them.

    Parameters
    ----------
    log_left, log_right : Tensor
        log P(left) and log P(right), of any one shape, differentiable. They need not be normalised.
    log_ratio_left, log_ratio_right : float
        Of `log_class_ratio`.

    Returns
    -------
    tuple of Tensor
        Both log-probabilities. Where the ratios rule out the only possible side, the input stays as it is.
    """
    before = log_left - log_right
    log_odds = before + (log_ratio_left - log_ratio_right)
    log_odds = torch.where(torch.isnan(log_odds), before, log_odds)
    return logsigmoid(log_odds), logsigmoid(-log_odds)


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf
