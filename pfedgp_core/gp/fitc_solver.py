r"""Conjugate gradients for the M x M systems of a FITC node, all chains at once, and a predictive made of them.

B_c = I + A diag(g_c) A' differs between chains only in the weights g_c. One preconditioner for all of them, B at the
prior mean of omega, brings conjugate gradients to the solution in about six iterations, each two matrix products
(C x M)(M x n) with the shared A, in place of n M^2 + M^3 / 3 a chain.

The predictive variance would need a solve for each chain and test point. It depends on omega only through sums over
many points, in which the chains agree, so `shared_predictive` takes one variance, at the chains' mean omega, for all of
them, and `predictive` each chain's own to first order (`chain_variances`); the mean is exact to the tolerance.
`fitc_algebra.predictive` is exact in both.
"""

from collections import Counter

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from pfedgp_core.gp import fitc_algebra
from pfedgp_core.gp.chain_variances import ProjectedVariances
from pfedgp_core.gp.fitc_algebra import factorise, weights
from pfedgp_core.numerics.polya_gamma import pg_mean

__all__ = ["DRAW_TOLERANCE", "predictive", "prior_preconditioner", "shared_predictive", "solve"]

DRAW_TOLERANCE = 1e-3  # error of a draw in posterior standard deviations, root mean square over the directions
MEAN_TOLERANCE = 1e-4  # the same of a mean
RELATIVE_TOLERANCE = 1e-5  # of the size of the solution, in the same norm: what float32 can reach
ADJOINT_TOLERANCE = 1e-4  # relative, for the solve of the backward pass, whose right-hand side has no natural size
MOST_ITERATIONS = 50


def prior_preconditioner(A: Tensor, d: Tensor, prior_variance: Tensor) -> Tensor:
    """B^-1 [M, M] at omega = E PG(1, prior standard deviation), for all chains; A [M, n], d and prior_variance [n]."""
    omega = pg_mean(prior_variance.sqrt())[None]
    L, _ = factorise(A, *weights(d, omega, torch.zeros_like(d)))
    return torch.cholesky_inverse(L[0])


def solve(
    A: Tensor,
    g: Tensor,
    b: Tensor,
    preconditioner: Tensor,
    tolerance: float = DRAW_TOLERANCE,
    relative: float = RELATIVE_TOLERANCE,
    counters: Counter[str] | None = None,
) -> Tensor:
    """Solve (I + A diag(g_c) A') x_c = b_c for every chain by preconditioned conjugate gradients.

    The error is measured in the norm of B, that is in posterior standard deviations; the preconditioned residual
    estimates it. A chain that does not converge is factorised; one that is not finite comes back as NaN.

    Parameters
    ----------
    A : Tensor [M, n]
    g : Tensor [C, n]
    b : Tensor [C, M]
    preconditioner : Tensor [M, M]
        Of `prior_preconditioner`.
    tolerance, relative : float
        A chain has converged when its error^2 is at most M tolerance^2 + relative^2 (size of the solution)^2.
    counters : Counter, optional
        ``cg_fallback`` counts chains that were factorised.

    Returns
    -------
    Tensor [C, M]
    """
    r = b.clone()
    z = r @ preconditioner
    rz = (r * z).sum(1)
    target = len(A) * tolerance**2 + relative**2 * rz
    x, p = torch.zeros_like(b), z
    active = rz > target
    for _ in range(MOST_ITERATIONS):
        if not bool(active.any()):
            break
        Bp = torch.addmm(p, (p @ A) * g, A.T)
        step = torch.where(active, rz / (p * Bp).sum(1), 0.0)[:, None]  # a chain that arrived would divide 0 by 0
        x.addcmul_(step, p)
        r.addcmul_(step, Bp, value=-1.0)
        z = r @ preconditioner
        following = (r * z).sum(1)
        p = torch.addcmul(z, torch.where(active, following / rz, 0.0)[:, None], p)
        rz = following
        active = active & (rz > target)
    broken = ~torch.isfinite(rz)
    x[broken] = torch.nan
    stuck = (active & ~broken).nonzero()[:, 0].tolist()
    for chain in stuck:
        L, _ = factorise(A, g[chain, None], torch.zeros_like(g[chain, None]))
        x[chain] = torch.cholesky_solve(b[chain, :, None], L[0])[:, 0]
    if counters is not None and stuck:
        counters["cg_fallback"] += len(stuck)
    return x


def predictive(
    A: Tensor,
    d: Tensor,
    A_star: Tensor,
    d_star: Tensor,
    omega: Tensor,
    kappa: Tensor,
    preconditioner: Tensor,
    counters: Counter[str] | None = None,
) -> tuple[Tensor, Tensor]:
    """As `fitc_algebra.predictive`: mu and v, each [C, T]; with a gradient one variance for all chains."""
    if torch.is_grad_enabled() and any(each.requires_grad for each in (A, d, A_star, d_star)):
        return shared_predictive(A, d, A_star, d_star, omega, kappa, preconditioner, counters)
    mu = _Mean.apply(A, d, A_star, omega, kappa, preconditioner, counters)
    return mu, ProjectedVariances.of(A, weights(d, omega, kappa)[0]).at(A_star, d_star)


def shared_predictive(
    A: Tensor,
    d: Tensor,
    A_star: Tensor,
    d_star: Tensor,
    omega: Tensor,
    kappa: Tensor,
    preconditioner: Tensor,
    counters: Counter[str] | None = None,
) -> tuple[Tensor, Tensor]:
    """As `fitc_algebra.predictive`, with one variance for all chains: mu and v, each [C, T]."""
    mu = _Mean.apply(A, d, A_star, omega, kappa, preconditioner, counters)
    _, v = fitc_algebra.predictive(A, d, A_star, d_star, omega.mean(0, keepdim=True), kappa)
    return mu, v.expand_as(mu)


class _Mean(torch.autograd.Function):
    """The mean of f* by conjugate gradients, with its closed-form adjoint.

    mu = A*' u, u = B^-1 A h. Adjoint, with r = B^-1 A* g: the cotangent of B is N = -(r u' + u r') / 2, that of A h
    is r, so dA = 2 N A diag(g) + r h', dA* = u g', dd_i = g_i^2 (a_i' r)(a_i' u) - g_i h_i a_i' r.
    """

    @staticmethod
    def forward(ctx, A, d, A_star, omega, kappa, preconditioner, counters):  # type: ignore[no-untyped-def]
        g, h = weights(d, omega, kappa)
        u = solve(A, g, h @ A.T, preconditioner, MEAN_TOLERANCE, counters=counters)
        ctx.save_for_backward(A, d, A_star, omega, kappa, preconditioner, u)
        ctx.counters = counters
        return u @ A_star

    @staticmethod
    @once_differentiable
    def backward(ctx, upstream):  # type: ignore[no-untyped-def]
        A, d, A_star, omega, kappa, preconditioner, u = ctx.saved_tensors
        g, h = weights(d, omega, kappa)
        r = solve(A, g, upstream @ A_star.T, preconditioner, 0.0, ADJOINT_TOLERANCE, ctx.counters)
        along_u, along_r = g * (u @ A), g * (r @ A)
        g_A = r.T @ (h - along_u) - u.T @ along_r
        return g_A, (along_r * (along_u - h)).sum(0), u.T @ upstream, None, None, None, None
