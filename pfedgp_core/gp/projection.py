r"""Points seen through inducing inputs: the features a(x) = L_m^-1 k(inducing, x), with k(x, x') ~ a(x)' a(x').

L_m L_m' = K_mm + jitter I. What a point's prior variance has beyond |a(x)|^2 is its residual, d(x) >= 0.
"""

from collections import Counter
from functools import cached_property

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from pfedgp_core.errors import DataError
from pfedgp_core.gp.shared_gram import GramBlock
from pfedgp_core.kernels.base import Kernel
from pfedgp_core.numerics.linalg import safe_cholesky

__all__ = ["Projection", "column_squares"]


class Projection:
    """The map of points to (A, d) for one kernel and one set of inducing inputs.

    Gradients are those of a loss that sees A only through products of its columns (A'A, A'A*), as every quantity of
    FITC does: turning all columns by one rotation must not change it. Then no gradient of a Cholesky factor is needed.

    Parameters
    ----------
    kernel : Kernel
    inducing : Tensor [M, d]
        As they enter the kernel; repeated rows are allowed.
    jitter : float
        Part of the model, in K_mm and in the prior variance of every point.
    counters : Counter, optional
        Receives the repairs of K_mm.
    block : GramBlock, optional
        K_mm + jitter I where it is known as a block of a larger matrix; made here if left out.

    Raises
    ------
    DataError
        There is no inducing input.
    """

    def __init__(
        self,
        kernel: Kernel,
        inducing: Tensor,
        jitter: float,
        counters: Counter[str] | None = None,
        block: GramBlock | None = None,
    ) -> None:
        if inducing.ndim != 2 or not len(inducing):
            raise DataError(f"Inducing inputs of shape {tuple(inducing.shape)} cannot be used; give at least one row.")
        self.kernel, self.inducing, self.jitter, self.counters = kernel, inducing, jitter, counters
        self._block = block

    @cached_property
    def gram(self) -> Tensor:
        """K_mm + jitter I, [M, M]."""
        return self.kernel.gram(self.inducing, self.jitter) if self._block is None else self._block.gram

    @cached_property
    def factor(self) -> Tensor:
        """L_m [M, M], without gradient."""
        return safe_cholesky(self.gram.detach(), self.counters) if self._block is None else self._block.factor

    def __call__(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Project points.

        Parameters
        ----------
        inputs : Tensor [n, d]

        Returns
        -------
        A : Tensor [M, n]
            Rows contiguous.
        d : Tensor [n]
            k_ii + jitter - colsum(A^2), clamped at 0.
        """
        A = _Whiten.apply(self.gram, self.factor, self.kernel.cross(self.inducing, inputs))
        return A, (self.kernel.diagonal(inputs) + self.jitter - column_squares(A)).clamp_min(0)

    def explained(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What a node needs that has fewer points than inducing inputs; its gradient costs less than that of A.

        Parameters
        ----------
        inputs : Tensor [n, d]

        Returns
        -------
        Q : Tensor [n, n]
            A'A, the covariance that the inducing inputs explain.
        d : Tensor [n]
            As of a call.
        A : Tensor [M, n]
            Without gradient.
        """
        gram = self.gram if self._block is None else self._block.shared.token
        Q, A = _Explained.apply(gram, self.factor, self.kernel.cross(self.inducing, inputs), self._block)
        return Q, (self.kernel.diagonal(inputs) + self.jitter - Q.diagonal()).clamp_min(0), A


def column_squares(A: Tensor) -> Tensor:
    """Sums of squares of the columns, [M, n] -> [n]."""
    return A.square().sum(0)


class _Whiten(torch.autograd.Function):
    """The features A = L^-1 K, with their closed-form adjoint.

    L L' = G. Adjoint: dK = L^-T dA and, where dA A' is symmetric in total (see `Projection`),
    dG = -L^-T (dA A') L^-1 / 2. A part of the total need not be symmetric; G is, so only its symmetric part counts.
    """

    @staticmethod
    def forward(ctx, G, L, K):  # type: ignore[no-untyped-def]
        # The solver returns contiguous columns; the algebra cuts blocks of columns out of contiguous rows.
        A = torch.linalg.solve_triangular(L, K, upper=False).contiguous()
        ctx.save_for_backward(L, A)
        return A

    @staticmethod
    @once_differentiable
    def backward(ctx, g_A):  # type: ignore[no-untyped-def]
        L, A = ctx.saved_tensors
        g_K = torch.linalg.solve_triangular(L.mT, g_A, upper=True)
        if A.shape[1] < A.shape[0]:
            half = g_K @ torch.linalg.solve_triangular(L.mT, A, upper=True).mT
            return half.mul_(-0.5), None, g_K
        half = g_A @ A.mT
        left = torch.linalg.solve_triangular(L.mT, half + half.mT, upper=True)
        return -0.25 * torch.linalg.solve_triangular(L, left, upper=False, left=False), None, g_K


class _Explained(torch.autograd.Function):
    """Q = K' G^-1 K through A = L^-1 K, with its closed-form adjoint; A comes beside it, without gradient.

    With W = G^-1 K and S = dQ + dQ': dK = W S, dG = -W S W' / 2. Where G is a block, its token stands for it.
    """

    @staticmethod
    def forward(ctx, G, L, K, block):  # type: ignore[no-untyped-def]
        A = torch.linalg.solve_triangular(L, K, upper=False).contiguous()
        ctx.save_for_backward(L, A)
        ctx.block = block
        ctx.mark_non_differentiable(A)
        return A.T @ A, A

    @staticmethod
    @once_differentiable
    def backward(ctx, g_Q, _):  # type: ignore[no-untyped-def]
        L, A = ctx.saved_tensors
        W = torch.linalg.solve_triangular(L.mT, A, upper=True)
        g_K = W @ (g_Q + g_Q.T)
        if not ctx.needs_input_grad[0]:
            return None, None, g_K, None
        if ctx.block is None:
            return (g_K @ W.T).mul_(-0.5), None, g_K, None
        ctx.block.gather(g_K, W.T, -0.5)
        return g_K.new_zeros(()), None, g_K, None
