"""Kernels on feature vectors: rbf, Matern 1/2, 3/2, 5/2 and linear.

Scale and length are fixed numbers (paper: 8 and 1) or 0-d tensors that are learned. A training Gram matrix carries
jitter on its diagonal, a cross kernel never does.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from pfedgp_core.errors import ConfigError
from pfedgp_core.kernels.rbf import exact_in_products, rbf_cross, rbf_gram

__all__ = ["KERNELS", "RBF", "Kernel", "Linear", "Matern12", "Matern32", "Matern52", "make_kernel", "unit_sphere"]


@dataclass(frozen=True)
class Kernel(ABC):
    """A covariance function k(x, y) of two feature vectors.

    Parameters
    ----------
    output_scale : float or 0-d Tensor
        S > 0, the prior variance of a latent value.
    length_scale : float or 0-d Tensor
        l > 0, the distance over which latent values stay correlated.
    """

    output_scale: float | Tensor
    length_scale: float | Tensor

    @abstractmethod
    def cross(self, X: Tensor, Y: Tensor) -> Tensor:
        """Return k(x_i, y_j) without jitter. Shapes: X [n, d], Y [m, d] -> [n, m]."""

    @abstractmethod
    def gram(self, X: Tensor, jitter: float) -> Tensor:
        """Return k(X, X) + jitter I, symmetric to the bit, its diagonal exactly ``diagonal(X) + jitter``.

        Shapes: X [n, d] -> [n, n].
        """

    @abstractmethod
    def diagonal(self, X: Tensor) -> Tensor:
        """Return k(x_i, x_i) without jitter. Shapes: X [n, d] -> [n]."""


class Stationary(Kernel):
    """A kernel S c(r^2) of the scaled distance r = |x - y| / l, with c(0) = 1.

    r^2 is |x|^2 + |y|^2 - 2 x'y, one matrix product, after both sets are shifted by the mean of one of them (which
    keeps the digits of rows far from the origin) and clamped at 0.
    """

    @abstractmethod
    def correlation(self, squared: Tensor) -> Tensor:
        """Return c(r^2) elementwise, with a finite gradient at r = 0."""

    def cross(self, X: Tensor, Y: Tensor) -> Tensor:
        """See ``Kernel.cross``."""
        X, Y = self._scaled(X, Y)
        return self.output_scale * self.correlation(_squared_distances(X, Y).clamp_min(0))

    def gram(self, X: Tensor, jitter: float) -> Tensor:
        """See ``Kernel.gram``."""
        (scaled,) = self._scaled(X)
        squared = _symmetric(_squared_distances(scaled, scaled)).clamp_min(0)
        squared.fill_diagonal_(0.0)  # rounding would leave about 1e-7 here, which a Matern kernel magnifies
        gram = self.output_scale * self.correlation(squared)
        gram.diagonal().add_(jitter)
        return gram

    def _scaled(self, *sets: Tensor) -> tuple[Tensor, ...]:
        """All rows relative to the mean of the last set, in units of the length scale."""
        shift = sets[-1].detach().mean(0) if len(sets[-1]) else 0.0
        return tuple((rows - shift) / self.length_scale for rows in sets)

    def diagonal(self, X: Tensor) -> Tensor:
        """See ``Kernel.diagonal``."""
        return X.new_ones(len(X)) * self.output_scale


class RBF(Stationary):
    """S exp(-r^2 / 2), the kernel of the paper; matrices with a closed-form gradient (``pfedgp_core.kernels.rbf``)."""

    def correlation(self, squared: Tensor) -> Tensor:
        """See ``Stationary.correlation``."""
        return (-0.5 * squared).exp_()

    def cross(self, X: Tensor, Y: Tensor) -> Tensor:
        """See ``Kernel.cross``."""
        X, Y = self._scaled(X, Y)
        return rbf_cross(X, Y, self.output_scale)

    def gram(self, X: Tensor, jitter: float) -> Tensor:
        """See ``Kernel.gram``."""
        (X,) = self._scaled(X)
        return rbf_gram(X, self.output_scale, jitter)


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


class Linear(Kernel):
    """S x'y. Its Gram matrix has rank d at most, so n > d rows need the jitter. The length scale has no effect."""

    def cross(self, X: Tensor, Y: Tensor) -> Tensor:
        """See ``Kernel.cross``."""
        wide_X, wide_Y = exact_in_products(X, Y)
        return self.output_scale * (wide_X @ wide_Y.mT).to(X.dtype)

    def gram(self, X: Tensor, jitter: float) -> Tensor:
        """See ``Kernel.gram``."""
        gram = _symmetric(self.cross(X, X))
        gram.diagonal().copy_(self.diagonal(X) + jitter)
        return gram

    def diagonal(self, X: Tensor) -> Tensor:
        """See ``Kernel.diagonal``."""
        return self.output_scale * X.square().sum(-1)


KERNELS: dict[str, type[Kernel]] = {
    "rbf": RBF,
    "matern12": Matern12,
    "matern32": Matern32,
    "matern52": Matern52,
    "linear": Linear,
}


def make_kernel(name: str, output_scale: float | Tensor = 8.0, length_scale: float | Tensor = 1.0) -> Kernel:
    """Return the kernel of a name in ``KERNELS``.

    Raises
    ------
    ConfigError
        The name is unknown, or a scale given as a number is not positive and finite.
    """
    if name not in KERNELS:
        raise ConfigError(f"gp.kernel = {name!r} is not known; choose one of: {', '.join(KERNELS)}.")
    for key, value in (("output-scale", output_scale), ("length-scale", length_scale)):
        if not isinstance(value, Tensor) and not 0 < value < math.inf:
            raise ConfigError(f"gp.{key} = {value!r} is not a positive number; give for example 1.0.")
    return KERNELS[name](output_scale, length_scale)


def unit_sphere(features: Tensor) -> Tensor:
    """Divide each row by its length: x / sqrt(|x|^2 + 1e-12). Shapes: [n, d] -> [n, d].

    Smooth everywhere; a zero row stays zero. Its gradient is at most 1e6 times the incoming one, at a zero row.
    """
    return features * (features.square().sum(-1, keepdim=True) + 1e-12).rsqrt()


def _squared_distances(X: Tensor, Y: Tensor) -> Tensor:
    """|x_i|^2 + |y_j|^2 - 2 x_i'y_j, which rounding can leave slightly below 0."""
    dtype = X.dtype
    X, Y = exact_in_products(X, Y)
    lengths = X.square().sum(-1)[:, None] + Y.square().sum(-1)
    return torch.addmm(lengths, X, Y.mT, alpha=-2).to(dtype)


def _symmetric(matrix: Tensor) -> Tensor:
    # A product X X' need not be symmetric to the last bit: the two triangles may be summed in different order.
    return (matrix + matrix.mT) / 2


def _safe_sqrt(squared: Tensor) -> Tensor:
    """Square root whose gradient at 0 is 0 (of the plain one it is infinite, and NaN after the chain rule)."""
    zero = squared <= 0
    return squared.masked_fill(zero, 1.0).sqrt().masked_fill(zero, 0.0)
