"""The interface of a kernel on feature vectors, and the parts that stationary kernels share.

Scale and length are fixed numbers (paper: 8 and 1) or 0-d tensors that are learned. A training Gram matrix carries
jitter on its diagonal, a cross kernel never does. Sets of points of one size can be given at once, [b, n, d].
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from pfedgp_core.kernels.rbf_matrix import exact_in_products

__all__ = ["Kernel", "Stationary", "symmetric", "unit_sphere"]


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
        """Return k(x_i, y_j) without jitter. Shapes: X [..., n, d], Y [..., m, d] -> [..., n, m]."""

    @abstractmethod
    def gram(self, X: Tensor, jitter: float) -> Tensor:
        """Return k(X, X) + jitter I, symmetric to the bit, its diagonal exactly ``diagonal(X) + jitter``.

        Shapes: X [..., n, d] -> [..., n, n].
        """

    @abstractmethod
    def diagonal(self, X: Tensor) -> Tensor:
        """Return k(x_i, x_i) without jitter. Shapes: X [..., n, d] -> [..., n]."""


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
        squared = symmetric(_squared_distances(scaled, scaled)).clamp_min(0)
        # Rounding would leave about 1e-7 here, which a Matern kernel magnifies.
        squared.diagonal(dim1=-2, dim2=-1).fill_(0.0)
        gram = self.output_scale * self.correlation(squared)
        gram.diagonal(dim1=-2, dim2=-1).add_(jitter)
        return gram

    def _scaled(self, *sets: Tensor) -> tuple[Tensor, ...]:
        """All rows relative to the mean of the last set, in units of the length scale."""
        shift = sets[-1].detach().mean(-2, keepdim=True) if sets[-1].shape[-2] else 0.0
        return tuple((rows - shift) / self.length_scale for rows in sets)

    def diagonal(self, X: Tensor) -> Tensor:
        """See ``Kernel.diagonal``."""
        return X.new_ones(X.shape[:-1]) * self.output_scale


def unit_sphere(features: Tensor) -> Tensor:
    """Divide each row by its length: x / sqrt(|x|^2 + 1e-12). Shapes: [n, d] -> [n, d].

    Smooth everywhere; a zero row stays zero. Its gradient is at most 1e6 times the incoming one, at a zero row. Half
    precision is returned in float32. A row whose squared length is beyond the largest number is made shorter first,
    which leaves its direction.
    """
    if features.dtype in (torch.float16, torch.bfloat16):
        features = features.float()
    squares = features.square().sum(-1, keepdim=True)
    if bool(torch.isinf(squares).any()):
        largest = features.detach().abs().amax(-1, keepdim=True)
        features = features / torch.where(torch.isinf(squares), largest, 1.0)
        squares = features.square().sum(-1, keepdim=True)
    return features * (squares + 1e-12).rsqrt()


def _squared_distances(X: Tensor, Y: Tensor) -> Tensor:
    """|x_i|^2 + |y_j|^2 - 2 x_i'y_j, [..., n, m], which rounding can leave slightly below 0."""
    dtype = X.dtype
    X, Y = exact_in_products(X, Y)
    lengths = X.square().sum(-1)[..., None] + Y.square().sum(-1)[..., None, :]
    product = torch.addmm if X.ndim == 2 else torch.baddbmm
    return product(lengths, X, Y.mT, alpha=-2).to(dtype)


def symmetric(matrix: Tensor) -> Tensor:
    """Return the symmetric part of a matrix.

    A product X X' need not be symmetric to the last bit: the two triangles may be summed in different order.
    """
    return (matrix + matrix.mT) / 2
