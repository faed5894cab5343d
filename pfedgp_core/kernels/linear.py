"""The linear kernel."""

from torch import Tensor

from pfedgp_core.kernels.base import Kernel, symmetric
from pfedgp_core.kernels.rbf_matrix import exact_in_products

__all__ = ["Linear"]


class Linear(Kernel):
    """S x'y. Its Gram matrix has rank d at most, so n > d rows need the jitter. The length scale has no effect."""

    def cross(self, X: Tensor, Y: Tensor) -> Tensor:
        """See ``Kernel.cross``."""
        wide_X, wide_Y = exact_in_products(X, Y)
        return self.output_scale * (wide_X @ wide_Y.mT).to(X.dtype)

    def gram(self, X: Tensor, jitter: float) -> Tensor:
        """See ``Kernel.gram``."""
        gram = symmetric(self.cross(X, X))
        gram.diagonal(dim1=-2, dim2=-1).copy_(self.diagonal(X) + jitter)
        return gram

    def diagonal(self, X: Tensor) -> Tensor:
        """See ``Kernel.diagonal``."""
        return self.output_scale * X.square().sum(-1)
