"""Node probabilities: from the moments of f* in every chain to log P(left) and log P(right).

* ``arith``: mean over chains of E sigma(f*), the exact posterior predictive (default).
* ``chain-geo``: geometric mean over chains of E sigma(f*), renormalised.
* ``paper-explog``: P(left) = mean over chains of exp(E log sigma(f*)), P(right) = 1 - P(left), the authors' code.
  Kept for reproduction only: swapping the names of the children changes the prediction (Jensen pushes left down).
"""

import math

import torch
from torch import Tensor

from pfedgp_core.numerics.quadrature import expected_log_sigmoid, log_sigmoid_expectation

__all__ = ["node_log_probabilities"]


def node_log_probabilities(mu: Tensor, v: Tensor, link: str = "arith", quadrature: int = 0) -> tuple[Tensor, Tensor]:
    """log P(left) and log P(right) of every test point.

    Parameters
    ----------
    mu, v : Tensor [C, T]
        Mean and variance of f* in every chain.
    link : {"arith", "chain-geo", "paper-explog"}
    quadrature : int
        Gauss-Hermite nodes; 0 is the closed form, of ``paper-explog``, which has none, 32 nodes.

    Returns
    -------
    log_left, log_right : Tensor [T]
    """
    if link == "paper-explog":
        left = torch.logsumexp(expected_log_sigmoid(mu, v, quadrature)[0], 0) - math.log(len(mu))
        return left, torch.log(-torch.expm1(left.clamp_max(-1e-7)))
    left, right = log_sigmoid_expectation(mu, v, quadrature)
    if link == "arith":
        return torch.logsumexp(left, 0) - math.log(len(mu)), torch.logsumexp(right, 0) - math.log(len(mu))
    left, right = left.mean(0), right.mean(0)
    total = torch.logaddexp(left, right)
    return left - total, right - total
