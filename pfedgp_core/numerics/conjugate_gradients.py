r"""Preconditioned conjugate gradients for all chains of a node at once.

The chains share one kernel matrix: B_c = I + D_c K D_c differs between chains only in D_c = diag(sqrt(omega_c)). One
iteration for C chains is a single matrix product (C x n)(n x n), so a solve costs about 2 n^2 C flops an iteration
for all chains together instead of C n^3 / 3.

The preconditioner is B_c with K replaced by a rank-r factor plus its residual diagonal, K ~ A'A + diag(d), inverted by
Woodbury's identity with one r x r matrix a chain.

Several nodes of one size can be solved at once: all shapes then start with their number.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

__all__ = ["Preconditioner", "pivoted_cholesky", "solve"]


def pivoted_cholesky(K: Tensor, rank: int) -> Tensor:
    """Greedy pivoted Cholesky factor A [r, n] of K [n, n] with K ~ A'A, in O(n r^2); r <= rank where K is exhausted."""
    matrix = K.detach().cpu().numpy()
    residual = matrix.diagonal().copy()
    smallest = 1e-6 * residual.max(initial=0.0)
    A = np.zeros((min(rank, len(matrix)), len(matrix)), dtype=matrix.dtype)
    for k in range(len(A)):
        i = int(residual.argmax())
        if residual[i] <= smallest:
            A = A[:k]
            break
        A[k] = (matrix[i] - A[:k, i] @ A[:k]) / np.sqrt(residual[i])
        residual -= A[k] ** 2
        residual[i] = 0.0
    return torch.from_numpy(A).to(K.device)


class Preconditioner(NamedTuple):
    """Inverse of B_c with K ~ A'A + diag(d), S (I - W A' P A W) S with S = diag(scale), W = diag(weight), P = inverse.

    Attributes
    ----------
    scale : Tensor [C, n]
        1 / sqrt(1 + omega d).
    weight : Tensor [C, n]
        sqrt(omega) * scale.
    A : Tensor [r, n]
    inverse : Tensor [C, r, r]
        (I + A diag(weight^2) A')^-1.
    """

    scale: Tensor
    weight: Tensor
    A: Tensor
    inverse: Tensor

    @classmethod
    def build(cls, A: Tensor, diagonal: Tensor, sqrt_omega: Tensor) -> "Preconditioner":
        """From the factor A [r, n], the diagonal of K [n] and sqrt(omega) [C, n]."""
        d = (diagonal - A.square().sum(-2)).clamp_min_(0)[..., None, :]
        scale = torch.addcmul(torch.ones((), dtype=A.dtype, device=A.device), sqrt_omega.square(), d).rsqrt_()
        weight = sqrt_omega * scale
        # The chains lie below each other, so that one product serves them all.
        stacked = (A[..., None, :, :] * weight.square()[..., None, :]).flatten(-3, -2)
        inner = (stacked @ A.mT).unflatten(-2, (weight.shape[-2], A.shape[-2]))
        inner.diagonal(dim1=-2, dim2=-1).add_(1.0)
        return cls(scale, weight, A, torch.cholesky_inverse(torch.linalg.cholesky_ex(inner)[0]))


def solve(
    K: Tensor, b: Tensor, precondition: Preconditioner, tolerance: float, limit: int = 200
) -> tuple[Tensor, bool]:
    """Solve (I + D_c K D_c) x_c = b_c for every chain c.

    Parameters
    ----------
    K : Tensor [n, n]
    b : Tensor [C, n]
    precondition : Preconditioner
        Of the same K and D_c.
    tolerance : float
        Relative residual that every chain must reach.
    limit : int
        Iterations.

    Returns
    -------
    x : Tensor [C, n]
    converged : bool
        False where a chain did not reach the tolerance or left the finite numbers; x is then not to be used.
    """
    scale, weight, A, inverse = precondition
    # In y = x / scale and the residual times scale, B_c is diag(scale^2) + diag(weight) K diag(weight), and the
    # preconditioner needs no scale.
    square, unscaled = scale.square(), scale.reciprocal()
    target = tolerance * b.norm(dim=-1)
    r, y = b * scale, torch.zeros_like(b)
    p, rz = y, torch.ones((), dtype=b.dtype, device=b.device)
    for _ in range(limit):
        inner = (weight * r) @ A.mT
        z = torch.addcmul(r, weight, (inner[..., None, :] @ inverse)[..., 0, :] @ A, value=-1)
        following = (r * z).sum(-1, keepdim=True)
        p = torch.addcmul(z, following / rz, p)  # of 0 in the first iteration
        rz = following
        Bp = (square * p).addcmul_(weight, (weight * p) @ K)
        step = rz / (p * Bp).sum(-1, keepdim=True)
        y.addcmul_(step, p)
        r.addcmul_(step, Bp, value=-1)
        if bool(((r * unscaled).norm(dim=-1) <= target).all()):
            return y.mul_(scale), True
    return y, False
