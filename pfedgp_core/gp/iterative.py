r"""The full GP node without cubic cost a chain: sweeps and means by conjugate gradients, variances by one factor.

* Latents and means need only solves with B_c, which `conjugate_gradients.solve` does for all chains at once, to a tight
  tolerance: they are exact to it.
* The predictive variance would need a solve for each chain and test point. It depends on omega only through sums over
  many points, in which the chains agree, so one factorisation at the chains' mean omega serves them all. Training takes
  the variance there; prediction the chains' own to first order in how they differ (`chain_variances`), where node
  probabilities are off by less than 1e-3 (docs/solver.md), against a Monte-Carlo error of 1e-2 of 30 chains.
* The log determinant of the marginal objective is that at the mean omega. It is concave in omega, so by Jensen's
  inequality the objective is a lower bound of the mean over the chains (docs/solver.md has by how much).

Gradients are closed form: one more solve for the mean (implicit differentiation), those of `dense` for the variance.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from pfedgp_core.gp import dense
from pfedgp_core.gp.chain_variances import ChainVariances
from pfedgp_core.gp.dense import SMALLEST_OMEGA
from pfedgp_core.gp.leave_one_out import full_cavity, shared_cavity
from pfedgp_core.numerics.conjugate_gradients import Preconditioner, pivoted_cholesky, solve
from pfedgp_core.numerics.streams import Stream

__all__ = ["IterativeNode", "is_iterative"]

ITERATIVE_FROM = 96  # points from which this solver is the faster one on a CPU (docs/solver.md)
SWEPT_FROM = 56  # the same for sweeps alone, which are exact to their tolerance
PRECONDITIONER_RANK, SMALL_RANK = 32, 16
SMALL = 256  # points below which the latter, whose preconditioner takes a third of the time, saves more than it costs
SWEEP_TOLERANCE = 1e-3  # relative residual of a Gibbs draw; far below its Monte-Carlo spread
MEAN_TOLERANCE = 1e-4


def is_iterative(solver: str, inputs: Tensor, least: int = ITERATIVE_FROM) -> bool:
    """Whether a node of these inputs [n, d] takes the iterative path under ``gp.solver``, from `least` points on.

    ``auto`` leaves other devices than a CPU to the dense path: batched factorisations suit them, and the
    stopping rule of an iteration would bring every sweep back to the host.
    """
    return solver == "iterative" or (solver == "auto" and len(inputs) >= least and inputs.device.type == "cpu")


@dataclass
class IterativeNode:
    """Solves with one node's Gram matrix, or with those of several nodes that were padded to one size.

    Parameters
    ----------
    K : Tensor [n, n] or [b, n, n]
        Gram matrix with jitter, without gradient.
    counters : Counter, optional
        ``cg_fallback`` counts solves that went to the dense path.
    sizes : sequence of int, optional
        Points of each of b nodes. All shapes below start with b then.
    """

    K: Tensor
    counters: Counter[str] | None = None
    sizes: Sequence[int] | None = None
    A: Tensor = field(init=False)

    def __post_init__(self) -> None:
        rank = PRECONDITIONER_RANK if self.K.shape[-1] >= SMALL else SMALL_RANK
        if self.sizes is None:
            self.A = pivoted_cholesky(self.K, rank)
            return
        self.A = self.K.new_zeros(len(self.K), rank, self.K.shape[-1])
        for rows, K, size in zip(self.A, self.K, self.sizes, strict=True):
            factor = pivoted_cholesky(K[:size, :size], rank)
            rows[: len(factor), :size] = factor

    def solve(self, d: Tensor, b: Tensor, tolerance: float, precondition: Preconditioner | None = None) -> Tensor:
        """x [C, n] with (I + D_c K D_c) x_c = b_c, D_c = diag(d_c); dense where the iteration does not converge."""
        precondition = precondition or self.preconditioner(d)
        x, converged = solve(self.K, b, precondition, tolerance)
        if converged:
            return x
        if self.counters is not None:
            self.counters["cg_fallback"] += 1
        _, L = dense.factorise(self.K, d.square())
        return torch.cholesky_solve(b[..., None], L)[..., 0]

    def solve_alpha(self, d: Tensor, kappa: Tensor, precondition: Preconditioner | None = None) -> Tensor:
        """As `dense.solve_alpha`: alpha = D B^-1 D^-1 kappa, [C, n]."""
        return d * self.solve(d, dense.by_chain(kappa, d) / d, MEAN_TOLERANCE, precondition)

    def preconditioner(self, d: Tensor) -> Preconditioner:
        """For D = diag(d), d = sqrt(omega) [C, n]."""
        return Preconditioner.build(self.A, self.K.diagonal(dim1=-2, dim2=-1), d)

    def draw_latents(self, prior_factor: Tensor, omega: Tensor, kappa: Tensor, stream: Stream) -> tuple[Tensor, Tensor]:
        """As `dense.draw_latents`: f given omega and the prior draw that was corrected, each [C, n]."""
        d = omega.clamp_min(SMALLEST_OMEGA).sqrt_()
        noise, e = stream.normal_pair(*omega.shape, dtype=self.K.dtype)
        f0 = noise @ prior_factor.mT
        rhs = (dense.by_chain(kappa, d) / d).addcmul_(d, f0, value=-1).sub_(e)
        return ((d * self.solve(d, rhs, SWEEP_TOLERANCE)) @ self.K).add_(f0), f0

    def predictive(
        self, K: Tensor, K_star: Tensor, k_star_star: Tensor, omega: Tensor, kappa: Tensor
    ) -> tuple[Tensor, Tensor]:
        """As `dense.predictive`: mean and variance of f* given omega, each [C, T].

        With a gradient, and of several nodes at once, there is one variance for all chains.

        Parameters
        ----------
        K : Tensor [n, n]
            The node's Gram matrix with its gradient.
        K_star : Tensor [n, T]
        k_star_star : Tensor [T]
        omega : Tensor [C, n]
        kappa : Tensor [n] or [C, n]
        """
        mu = _Mean.apply(K, K_star, omega, kappa, self)
        trained = torch.is_grad_enabled() and any(each.requires_grad for each in (K, K_star, k_star_star))
        if not trained and K.ndim == 2:
            return mu, ChainVariances.of(K, omega).at(K_star, k_star_star)
        _, v = dense.predictive(K, K_star, k_star_star, omega.mean(-2, keepdim=True), dense.any_row(kappa, omega))
        return mu, v.expand_as(mu)

    def leave_one_out(self, K: Tensor, omega: Tensor, kappa: Tensor) -> tuple[Tensor, Tensor]:
        """As `leave_one_out.full_cavity`, each [C, n], with one cavity variance for all chains, at their mean omega."""
        mean = _Mean.apply(K, K, omega, kappa, self)
        _, v = full_cavity(K, omega.mean(-2, keepdim=True), dense.any_row(kappa, omega))
        return shared_cavity(mean, v, omega, kappa)

    def log_marginal(self, K: Tensor, omega: Tensor, kappa: Tensor) -> Tensor:
        """As `dense.log_marginal`, [C], with the log determinant at the chains' mean omega."""
        value: Tensor = _LogMarginal.apply(K, omega, kappa, self)
        return value


class _Mean(torch.autograd.Function):
    """The mean of f* by conjugate gradients, with its closed-form adjoint.

    mu = alpha K* with alpha = D B^-1 D^-1 kappa. Adjoint, with b = D B^-1 D K* g: dK = -(b alpha' + alpha b') / 2,
    dK* = alpha g', dkappa = b / omega.
    """

    @staticmethod
    def forward(ctx, K, K_star, omega, kappa, node):  # type: ignore[no-untyped-def]
        d = omega.clamp_min(SMALLEST_OMEGA).sqrt()
        precondition = node.preconditioner(d)
        alpha = node.solve_alpha(d, kappa, precondition)
        ctx.save_for_backward(K_star, d, alpha)
        ctx.node, ctx.precondition = node, precondition
        return alpha @ K_star

    @staticmethod
    @once_differentiable
    def backward(ctx, g):  # type: ignore[no-untyped-def]
        K_star, d, alpha = ctx.saved_tensors
        b = d * ctx.node.solve(d, d * (g @ K_star.mT), MEAN_TOLERANCE, ctx.precondition)
        half = b.mT @ alpha
        g_kappa = b / d.square() if ctx.needs_input_grad[3] else None
        return -0.5 * (half + half.mT), alpha.mT @ g, None, g_kappa, None


class _LogMarginal(torch.autograd.Function):
    """-n log 2 - sum log L_ii + kappa' K alpha / 2, L that of B at the mean omega. dK = (alpha alpha' - A) / 2."""

    @staticmethod
    def forward(ctx, K, omega, kappa, node):  # type: ignore[no-untyped-def]
        d = omega.clamp_min(SMALLEST_OMEGA).sqrt()
        alpha = node.solve_alpha(d, kappa)
        mean_d, L = dense.factorise(K, omega.mean(0, keepdim=True))
        means = alpha @ K
        ctx.save_for_backward(alpha, mean_d[0], L[0], means)
        log_det = L[0].diagonal().log().sum()
        return -omega.shape[-1] * math.log(2.0) - log_det + 0.5 * dense.along(means, kappa)

    @staticmethod
    @once_differentiable
    def backward(ctx, g):  # type: ignore[no-untyped-def]
        alpha, d, L, means = ctx.saved_tensors
        A = d[:, None] * torch.cholesky_inverse(L) * d
        g_kappa = g[:, None] * means if ctx.needs_input_grad[2] else None
        return 0.5 * ((g[:, None] * alpha).T @ alpha - g.sum() * A), None, g_kappa, None
