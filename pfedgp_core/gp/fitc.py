"""FITC at a tree node: the GP seen through M inducing inputs (paper, section 4.3, IP-compute).

The prior of the n training latents is f ~ N(0, A'A + diag(d)) (`projection`, `fitc_algebra`), so the cost is O(n M^2)
in place of O(n^3). Where a node has fewer points than inducing inputs, the same model costs less in its n x n form, and
the algebra of the full GP (`dense`, `iterative`) serves with K := A'A + diag(d): M then enters only once a node.
"""

from collections import Counter
from functools import cached_property

import torch
from torch import Tensor

from pfedgp_core.gp import dense, fitc_algebra, fitc_gibbs, fitc_solver, gibbs
from pfedgp_core.gp.iterative import SWEPT_FROM, IterativeNode, is_iterative
from pfedgp_core.gp.leave_one_out import full_cavity, inducing_cavity
from pfedgp_core.gp.projection import Projection, column_squares
from pfedgp_core.gp.shared_gram import GramBlock
from pfedgp_core.kernels.base import Kernel
from pfedgp_core.numerics.linalg import safe_cholesky
from pfedgp_core.numerics.streams import Stream

__all__ = ["FITC"]


class FITC(gibbs.LatentModel):
    """Binary FITC classifier of one node with Polya-Gamma augmentation; the methods of `full.FullGP`.

    Parameters
    ----------
    kernel : Kernel
    inputs : Tensor [n, d]
        Training features, as they enter the kernel.
    labels : Tensor [n]
        1 = left, 0 = right.
    inducing : Tensor [M, d]
        Inducing inputs, as they enter the kernel.
    jitter : float
        Part of the model: in K_mm, in k_ii and in the prior variance of a test latent.
    counters : Counter, optional
        Receives the numerical recoveries.
    solver : {"dense", "iterative", "auto"}
        ``dense``: everything exact. ``iterative``: `predict` gives one variance for all chains, at their mean omega,
        which moves node probabilities by about 5e-4. ``auto``: iterative for nodes of 96 points and more
        on a CPU.
    targets : Tensor [T, d], optional
        Points that `predict` will be asked for: projected together with the inputs, which is cheaper where M is large.
    block : GramBlock, optional
        The Gram matrix of `inducing` with jitter, where other nodes share it.

    Attributes
    ----------
    dual, dual_draws : bool
        Whether predictions (by default where n < M) and Gibbs draws (where 2n < M, because a sweep is cheap in the
        M x M form) use the n x n form. The model and all results are the same.

    Raises
    ------
    DataError
        There is no inducing input.
    """

    def __init__(
        self,
        kernel: Kernel,
        inputs: Tensor,
        labels: Tensor,
        inducing: Tensor,
        jitter: float,
        counters: Counter[str] | None = None,
        solver: str = "dense",
        targets: Tensor | None = None,
        block: GramBlock | None = None,
    ) -> None:
        self.inputs, self.targets, self.counters = inputs, targets, counters
        self.mean: Tensor | None = None  # of the prior: zero
        self.kappa = labels.to(inputs.dtype) - 0.5
        self.projection = Projection(kernel, inducing, jitter, counters, block)
        self.dual = len(inputs) < len(inducing)
        self.dual_draws = 2 * len(inputs) < len(inducing)
        self.iterative = is_iterative(solver, inputs)
        self.swept_iteratively = is_iterative(solver, inputs, SWEPT_FROM)
        self._differentiable = torch.is_grad_enabled()

    def kappa_given(self, omega: Tensor) -> Tensor:
        """As `FullGP.kappa_given`."""
        return self.kappa

    @cached_property
    def _points(self) -> Tensor:
        return self.inputs if self.targets is None else torch.cat([self.inputs, self.targets])

    @cached_property
    def _projected(self) -> tuple[Tensor, Tensor]:
        """A and d of the inputs and the targets."""
        # The first use, of this and of the next, may be inside the sampler, where no gradient is recorded.
        with torch.set_grad_enabled(self._differentiable):
            return self.projection(self._points)

    @cached_property
    def _explained(self) -> tuple[Tensor, Tensor, Tensor]:
        """The same as A'A, d and A, of which A has no gradient: all that the n x n form needs."""
        with torch.set_grad_enabled(self._differentiable):
            return self.projection.explained(self._points)

    @cached_property
    def _constants(self) -> tuple[Tensor, Tensor]:
        """A and d of the inputs, without gradient."""
        d, A = self._explained[1:] if self.dual else reversed(self._projected)
        return A.detach()[:, : len(self.inputs)], d.detach()[: len(self.inputs)]

    @cached_property
    def gram(self) -> Tensor:
        """The prior covariance A'A + diag(d) of the training latents, [n, n]; only for small n."""
        Q, d, _ = self._explained
        n = len(self.inputs)
        with torch.set_grad_enabled(self._differentiable):
            return Q[:n, :n] + torch.diag_embed(d[:n])

    @cached_property
    def _prior_factor(self) -> Tensor:
        return safe_cholesky(self.gram.detach(), self.counters)

    @cached_property
    def _preconditioner(self) -> Tensor:
        A, d = self._constants
        return fitc_solver.prior_preconditioner(A, d, d + column_squares(A))

    @cached_property
    def _node(self) -> IterativeNode:
        return IterativeNode(self.gram.detach(), self.counters)

    def draw_prior(self, chains: int, stream: Stream) -> Tensor:
        """f ~ N(0, A'A + diag(d)), [C, n]."""
        return fitc_gibbs.draw_prior(*self._constants, chains, stream)

    def draw_latents(self, omega: Tensor, stream: Stream) -> tuple[Tensor, Tensor]:
        """f ~ p(f | omega, y) and a draw of the prior, each [C, n]."""
        if not self.dual_draws:
            A, d = self._constants
            start = self._preconditioner if A.device.type == "cpu" else None
            return fitc_gibbs.draw_latents(A, d, start, omega, self.kappa, stream, self.counters)
        if self.swept_iteratively:
            return self._node.draw_latents(self._prior_factor, omega, self.kappa, stream)
        return dense.draw_latents(self.gram.detach(), self._prior_factor, omega, self.kappa, stream)

    def sample_omega(self, chains: int, sweeps: int, stream: Stream) -> Tensor:
        """Posterior draws of omega, one a chain, [C, n]."""
        return gibbs.run(self, chains, sweeps, stream, self.counters).omega

    def cross(self, test_inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Prior covariances of training and test latents [n, T], and prior variances of the test latents [T]."""
        n = len(self.inputs)
        if test_inputs is self.targets:
            Q, d, _ = self._explained
            return Q[:n, n:], d[n:] + Q.diagonal()[n:]
        A_star, d_star = self.projection(test_inputs)
        return self._projected[0][:, :n].T @ A_star, d_star + column_squares(A_star)

    def predict(self, test_inputs: Tensor, omega: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of f* at `test_inputs` [T, d] for every chain, each [C, T].

        Differentiable in the inputs of all three kinds and in the scales of the kernel; omega is held fixed.
        """
        if self.dual:
            predictive = self._node.predictive if self.iterative else dense.predictive
            return predictive(self.gram, *self.cross(test_inputs), omega, self.kappa)
        n = len(self.inputs)
        A, d = (part[..., :n] for part in self._projected)
        known = test_inputs is self.targets
        A_star, d_star = (part[..., n:] for part in self._projected) if known else self.projection(test_inputs)
        if self.iterative:
            return fitc_solver.predictive(A, d, A_star, d_star, omega, self.kappa, self._preconditioner, self.counters)
        return fitc_algebra.predictive(A, d, A_star, d_star, omega, self.kappa)

    def leave_one_out(self, omega: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of every training latent without its own label, each [C, n]; as `FullGP.leave_one_out`."""
        if self.dual:
            leave_one_out = self._node.leave_one_out if self.iterative else full_cavity
            return leave_one_out(self.gram, omega, self.kappa)
        A, d = (part[..., : len(self.inputs)] for part in self._projected)
        if not self.iterative:
            return inducing_cavity(*fitc_algebra.predictive(A, d, A, d, omega, self.kappa), d, omega, omega, self.kappa)
        moments = fitc_solver.shared_predictive(A, d, A, d, omega, self.kappa, self._preconditioner, self.counters)
        return inducing_cavity(*moments, d, omega, omega.mean(0, keepdim=True), self.kappa)

    def log_marginal(self, omega: Tensor) -> Tensor:
        """log p(y | omega) of every chain, fully normalised, [C]; differentiable as `predict`."""
        if self.dual:
            return dense.log_marginal(self.gram, omega, self.kappa)
        A, d = (part[..., : len(self.inputs)] for part in self._projected)
        return fitc_algebra.log_marginal(A, d, omega, self.kappa)

    def posterior(self, omega: Tensor) -> tuple[Tensor, Tensor]:
        """Mean [C, n] and covariance [C, n, n] of the training latents given omega; only for small n."""
        return dense.posterior(self.gram, omega, self.kappa)

    def inducing_posterior(self, omega: Tensor) -> tuple[Tensor, Tensor]:
        """Mean L_m u [C, M] and covariance L_m B^-1 L_m' [C, M, M] of the inducing latents given omega, no gradient."""
        A, d = self._constants
        L, u = fitc_algebra.factorise(A, *fitc_algebra.weights(d, omega, self.kappa))
        factor = self.projection.factor
        root = torch.linalg.solve_triangular(L, factor.T.expand_as(L), upper=False)
        return u @ factor.T, root.mT @ root
