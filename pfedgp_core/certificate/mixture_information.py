r"""A lower bound, with a stated probability, on the information that turns a mixture's mean KL into its KL.

.. math::
    KL[Q \| P] = \operatorname{mean}_c KL_c - E Z, \qquad Z = \log \frac{q_c(f)}{\frac1C \sum_j q_j(f)}, \quad
    c \text{ uniform}, f \sim q_c.

Z is at most log C but has no lower end, so a plain concentration bound does not apply. However E exp(-Z) = 1 (the
integral of the mixture), so P(Z < -t) <= exp(-t) and E Z >= E max(Z, -b) - exp(-b), and max(Z, -b) is bounded. The
same holds for the sum of independent Z over the nodes of a tree. Concentration: the empirical Bernstein bound of Maurer
and Pontil (2009, theorem 4).
"""

import math

import torch
from torch import Tensor

from pfedgp_core.certificate.levels import require_level

__all__ = ["information_lower_bound"]

FLOOR = math.log(1000.0)  # costs exp(-b) = 0.001 nats


def information_lower_bound(excess: Tensor, ceiling: float, delta: float) -> float:
    r"""Lower bound on E Z that holds with probability 1 - delta over the draws; never negative.

    .. math::
        \bar Z - \sqrt{\frac{2 V \log(2 / \delta)}{N}} - \frac{7 (b + c) \log(2 / \delta)}{3 (N - 1)} - e^{-b}

    with Z clipped to [-b, c], V the sample variance (divisor N - 1) of the clipped draws.

    Parameters
    ----------
    excess : Tensor [N]
        Independent draws of Z.
    ceiling : float
        c >= Z, the sum of log C over the nodes.
    delta : float
        In (0, 1).

    Raises
    ------
    ConfigError
        delta outside (0, 1).
    """
    require_level("delta", delta)
    count = len(excess)
    if count < 2 or not bool(torch.isfinite(excess).all()):
        return 0.0
    clipped = excess.double().clamp(-FLOOR, ceiling)
    log_term = math.log(2 / delta)
    spread = math.sqrt(2 * float(clipped.var()) * log_term / count)
    tail = 7 * (FLOOR + ceiling) * log_term / (3 * (count - 1))
    return max(0.0, float(clipped.mean()) - spread - tail - math.exp(-FLOOR))
