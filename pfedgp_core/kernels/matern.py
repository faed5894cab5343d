"""Matern kernels of smoothness 1/2, 3/2 and 5/2."""

import torch
from torch import Tensor

from pfedgp_core.kernels.base import Stationary

__all__ = ["Matern12", "Matern32", "Matern52"]


class Matern12(Stationary):
    """S exp(-r). Its gradient at r = 0, where it has a cusp, is taken as 0."""

    def correlation(self, squared: Tensor) -> Tensor:
        """See ``Stationary.correlation``."""
        return (-_safe_sqrt(squared)).exp_()


class Matern32(Stationary):
    """S (1 + sqrt(3) r) exp(-sqrt(3) r)."""

    def correlation(self, squared: Tensor) -> Tensor:
        """See ``Stationary.correlation``."""
        r = _safe_sqrt(3 * squared)
        return (1 + r) * torch.exp(-r)


class Matern52(Stationary):
    """S (1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r)."""

    def correlation(self, squared: Tensor) -> Tensor:
        """See ``Stationary.correlation``."""
        r = _safe_sqrt(5 * squared)
        return (1 + r + (5 / 3) * squared) * torch.exp(-r)


def _safe_sqrt(squared: Tensor) -> Tensor:
    """Square root whose gradient at 0 is 0 (of the plain one it is infinite, and NaN after the chain rule)."""
    zero = squared <= 0
    return squared.masked_fill(zero, 1.0).sqrt().masked_fill(zero, 0.0)
