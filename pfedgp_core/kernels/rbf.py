"""The RBF kernel, which is the paper's."""

from torch import Tensor

from pfedgp_core.kernels.base import Stationary
from pfedgp_core.kernels.rbf_matrix import rbf_cross, rbf_gram

__all__ = ["RBF"]


class RBF(Stationary):
    """S exp(-r^2 / 2), the kernel of the paper; its matrices have a closed-form gradient (see `rbf_matrix`)."""

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
