r"""Exact linear algebra of a FITC node given omega, batched over chains: O(n M^2) time, O(nM + M^2) memory a chain.

FITC prior on n training latents through M inducing inputs, whitened by L_m L_m' = K_mm:

.. math::
    K_F = A' A + \operatorname{diag}(d), \qquad A = L_m^{-1} K_{mn}, \qquad d_i = k_{ii} - |a_i|^2 \ge 0

With omega = w and kappa = y - 1/2, everything follows from one M x M matrix B with eigenvalues at least 1:

.. math::
    g = \frac{w}{1 + w d}, \quad h = \frac{\kappa}{1 + w d}, \quad B = I + A \operatorname{diag}(g) A' = L L', \quad
    u = B^{-1} A h

L_m u is the posterior mean of the inducing latents, L_m B^-1 L_m' their covariance. There is no 1/w, so any w >= 0 is
safe. Gradients are closed form (no backward pass through the Cholesky factors of the chains); omega is held fixed
(Fisher's identity). Sums over points go through column blocks of A, so [C, M, n] is never in memory.
Paper: section 4.3 (IP-compute).
"""

import math
from collections.abc import Iterator
from itertools import pairwise

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from pfedgp_core.gp.dense import CHUNK_BYTES, SMALLEST_OMEGA

__all__ = ["factorise", "log_marginal", "predictive", "weighted_gram", "weights"]

BLOCK_BYTES = 2**21  # a block [C, M, columns] that stays in a core's cache; larger ones are slower on a CPU
KEPT_BYTES = 2**26  # B^-1 A* [C, M, T] is kept for the backward pass up to this size, and recomputed above it
GRAM_PARTS = 4  # bands of rows of a Gram matrix; their lower parts are 5/8 of the whole product


def weights(d: Tensor, omega: Tensor, kappa: Tensor) -> tuple[Tensor, Tensor]:
    """Return g = w / (1 + w d) and h = kappa / (1 + w d), each [C, n], of d [n], omega [C, n], kappa [n]."""
    omega = omega.clamp_min(SMALLEST_OMEGA)
    shrink = 1.0 + omega * d
    return omega / shrink, kappa / shrink


def weighted_gram(A: Tensor, g: Tensor) -> Tensor:
    """Return the lower triangle of A diag(g_c) A' for every chain c; what is above the diagonal is unspecified.

    One matrix product per band of rows and block of columns serves all chains together.

    Parameters
    ----------
    A : Tensor [M, n]
        Rows contiguous.
    g : Tensor [C, n]
        Weights of any sign.

    Returns
    -------
    Tensor [C, M, M]
    """
    chains, M = len(g), len(A)
    parts = GRAM_PARTS if M >= 16 * GRAM_PARTS else 1
    edges = [M * i // parts for i in range(parts + 1)]
    bands = list(pairwise(edges))
    sums = [A.new_zeros(chains * (end - start), end) for start, end in bands]
    for columns in _blocks(A, chains * M // parts):
        block, scale = A[:, columns], g[:, None, columns]
        for (start, end), total in zip(bands, sums, strict=True):
            total.addmm_((block[start:end] * scale).view(len(total), -1), block[:end].T)
    if parts == 1:
        return sums[0].view(chains, M, M)
    gram = A.new_zeros(chains, M, M)
    for (start, end), total in zip(bands, sums, strict=True):
        gram[:, start:end, :end] = total.view(chains, end - start, end)
    return gram


def factorise(A: Tensor, g: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
    """Return L [C, M, M], the lower Cholesky factor of B = I + A diag(g) A', and u = B^-1 A h [C, M]."""
    B = weighted_gram(A, g)
    B.diagonal(dim1=-2, dim2=-1).add_(1.0)
    L, _ = torch.linalg.cholesky_ex(B)
    return L, torch.cholesky_solve((h @ A.T)[..., None], L)[..., 0]


def predictive(
    A: Tensor, d: Tensor, A_star: Tensor, d_star: Tensor, omega: Tensor, kappa: Tensor
) -> tuple[Tensor, Tensor]:
    """Mean A*' u and variance d* + colsum(A* . B^-1 A*) of f* given omega, differentiable in A, d, A_star and d_star.

    Parameters
    ----------
    A : Tensor [M, n]
        Whitened cross kernel of the training points.
    d : Tensor [n]
        Their residual prior variances, at least 0.
    A_star, d_star : Tensor [M, T] and [T]
        The same of the test points.
    omega : Tensor [C, n]
        Held fixed.
    kappa : Tensor [n]
        Held fixed.

    Returns
    -------
    mu, v : Tensor [C, T]
    """
    parts = [_Predictive.apply(A, d, A_star, d_star, chunk, kappa) for chunk in _chain_chunks(omega, len(A))]
    return torch.cat([mu for mu, _ in parts]), torch.cat([v for _, v in parts])


class _Predictive(torch.autograd.Function):
    """The moments of f*, with their closed-form adjoint.

    With P = B^-1, R = A* diag(g_v) A*' and r = P A* g_mu, the cotangent of B is
    N = -(P R P + (r u' + u r') / 2), that of A h is r; dA* = u g_mu' + 2 P A* diag(g_v); dd* = g_v.
    """

    @staticmethod
    def forward(ctx, A, d, A_star, d_star, omega, kappa):  # type: ignore[no-untyped-def]
        L, u = factorise(A, *weights(d, omega, kappa))
        P = torch.cholesky_inverse(L).mT.contiguous()  # symmetric; its columns are what is contiguous
        stacked = P.view(-1, len(A))
        keep = len(stacked) * A_star.shape[1] * A.element_size() <= KEPT_BYTES
        v = d_star.repeat(len(u), 1)
        for columns in [slice(None)] if keep else _blocks(A_star, len(stacked)):
            block = A_star[:, columns]
            solved = (stacked @ block).view(len(u), *block.shape)
            v[:, columns] += (solved * block).sum(1)
        ctx.save_for_backward(A, d, A_star, omega, kappa, P, u, solved if keep else None)
        return u @ A_star, v

    @staticmethod
    @once_differentiable
    def backward(ctx, g_mu, g_v):  # type: ignore[no-untyped-def]
        A, d, A_star, omega, kappa, P, u, solved = ctx.saved_tensors
        r = (P @ (g_mu @ A_star.T)[..., None])[..., 0]
        g_A_star = u.T @ g_mu
        if solved is not None:
            scaled = solved * g_v[:, None, :]
            g_A_star.add_(scaled.sum(0), alpha=2.0)
            N = torch.baddbmm(_outer(r, u), scaled, solved.mT, beta=-1.0, alpha=-1.0)
        else:
            row_of_inverses = P.transpose(0, 1).reshape(len(A), -1)  # [M, C M]: the product sums over the chains
            for columns in _blocks(A_star, row_of_inverses.shape[1]):
                scaled = (A_star[:, columns] * g_v[:, None, columns]).view(row_of_inverses.shape[1], -1)
                g_A_star[:, columns].addmm_(row_of_inverses, scaled, alpha=2.0)
            R = _mirror(weighted_gram(A_star, g_v))
            N = torch.baddbmm(_outer(r, u), P @ R, P, beta=-1.0, alpha=-1.0)
        return *_pull_back(A, d, omega, kappa, N, r), g_A_star, g_v.sum(0), None, None


def log_marginal(A: Tensor, d: Tensor, omega: Tensor, kappa: Tensor) -> Tensor:
    """log p(y | omega) of every chain, fully normalised and differentiable in A and d.

    -n log 2 - sum log(1 + w d) / 2 - sum log L_ii + sum kappa^2 d / (1 + w d) / 2 + u' B u / 2. As for the full GP,
    its mean over posterior omegas is a learning objective and not log p(y).

    Parameters
    ----------
    A : Tensor [M, n]
    d : Tensor [n]
    omega : Tensor [C, n]
    kappa : Tensor [n]

    Returns
    -------
    Tensor [C]
    """
    return torch.cat([_LogMarginal.apply(A, d, chunk, kappa) for chunk in _chain_chunks(omega, len(A))])


class _LogMarginal(torch.autograd.Function):
    """Closed-form adjoint: the cotangent of B is -(P + u u') / 2, that of A h is u; d also enters directly."""

    @staticmethod
    def forward(ctx, A, d, omega, kappa):  # type: ignore[no-untyped-def]
        g, h = weights(d, omega, kappa)
        L, u = factorise(A, g, h)
        ctx.save_for_backward(A, d, omega, kappa, L, u)
        log_det = L.diagonal(dim1=-2, dim2=-1).log().sum(-1) + 0.5 * torch.log1p(omega * d).sum(-1)
        fit = (h * (kappa * d)).sum(-1) + ((h @ A.T) * u).sum(-1)
        return -len(d) * math.log(2.0) - log_det + 0.5 * fit

    @staticmethod
    @once_differentiable
    def backward(ctx, upstream):  # type: ignore[no-untyped-def]
        A, d, omega, kappa, L, u = ctx.saved_tensors
        r = upstream[:, None] * u
        N = -0.5 * (upstream[:, None, None] * torch.cholesky_inverse(L) + _outer(r, u))
        g_A, g_d = _pull_back(A, d, omega, kappa, N, r)
        g, h = weights(d, omega, kappa)
        return g_A, g_d + 0.5 * (upstream @ (h.square() - g)), None, None


def _pull_back(A: Tensor, d: Tensor, omega: Tensor, kappa: Tensor, N: Tensor, r: Tensor) -> tuple[Tensor, Tensor]:
    """Cotangents of A and d from those of B (N [C, M, M], symmetric) and of A h (r [C, M]), summed over the chains.

    dA = sum_c 2 N A diag(g) + r h';  dd_i = -sum_c g_i^2 a_i' N a_i + g_i h_i a_i' r.
    """
    g, h = weights(d, omega, kappa)
    g_A, g_d = r.T @ h, -(g * h * (r @ A)).sum(0)
    stacked = N.reshape(-1, len(A))
    for columns in _blocks(A, len(stacked)):
        block, scale = A[:, columns], g[:, columns]
        product = (stacked @ block).view(len(g), *block.shape)
        g_d[columns] -= (scale.square() * (product * block).sum(1)).sum(0)
        g_A[:, columns].add_(product.mul_(scale[:, None]).sum(0), alpha=2.0)
    return g_A, g_d


def _outer(r: Tensor, u: Tensor) -> Tensor:
    """(r u' + u r') / 2 of every chain, [C, M, M]."""
    product = 0.5 * r[:, :, None] * u[:, None, :]
    return product + product.mT


def _mirror(lower: Tensor) -> Tensor:
    """Copy the lower triangles into the upper ones."""
    return lower.tril() + lower.tril(-1).mT


def _blocks(A: Tensor, rows: int) -> Iterator[slice]:
    """Slices of A's columns, so wide that `rows` rows of a slice fill BLOCK_BYTES."""
    width = max(64, BLOCK_BYTES // max(1, rows * A.element_size()))
    return (slice(start, start + width) for start in range(0, A.shape[1], width))


def _chain_chunks(omega: Tensor, M: int) -> tuple[Tensor, ...]:
    """Split the chains so that the M x M matrices of a chunk stay within CHUNK_BYTES."""
    chunks: tuple[Tensor, ...] = omega.split(max(1, CHUNK_BYTES // (4 * max(M * M, 1) * omega.element_size())))
    return chunks
