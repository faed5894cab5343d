"""The full GP at a tree node: f ~ N(m, K) on the node's own training points, m = 0 in the paper (section 4.1)."""

from collections import Counter
from functools import cached_property

import torch
from torch import Tensor

from pfedgp_core.gp import dense, gibbs
from pfedgp_core.gp.iterative import SWEPT_FROM, IterativeNode, is_iterative
from pfedgp_core.gp.leave_one_out import full_cavity
from pfedgp_core.gp.shared_gram import GramBlock
from pfedgp_core.kernels.base import Kernel
from pfedgp_core.numerics.linalg import safe_cholesky
from pfedgp_core.numerics.streams import Stream

__all__ = ["FullGP"]


class FullGP(gibbs.LatentModel):
    """Binary GP classifier of one node with Polya-Gamma augmentation.

    Parameters
    ----------
    kernel : Kernel
    inputs : Tensor [n, d]
        Training features, as they enter the kernel.
    labels : Tensor [n]
        1 = left, 0 = right.
    jitter : float
        Part of the model: the Gram matrix is K + jitter I, the prior variance of a test latent k** + jitter.
    counters : Counter, optional
        Receives the numerical recoveries.
    solver : {"auto", "dense", "iterative"}
        ``dense``: a Cholesky factorisation a chain, exact. ``iterative``: conjugate gradients for all chains at once
        and one predictive variance for all chains. ``auto``: iterative for nodes of 96 points and more
        on a CPU.
    block : GramBlock, optional
        The Gram matrix with jitter, where other nodes share it; made here if left out.
    mean : Tensor [n], optional
        Prior means m of the training latents, zero if left out. What is said of test latents is about f* - m*: whoever
        knows their prior mean adds it.
    """

    def __init__(
        self,
        kernel: Kernel,
        inputs: Tensor,
        labels: Tensor,
        jitter: float,
        counters: Counter[str] | None = None,
        solver: str = "auto",
        block: GramBlock | None = None,
        mean: Tensor | None = None,
    ) -> None:
        self.kernel, self.inputs, self.jitter, self.counters = kernel, inputs, jitter, counters
        self.block, self.mean = block, mean
        self.kappa = labels.to(inputs.dtype) - 0.5
        self.iterative = is_iterative(solver, inputs)
        self.swept_iteratively = is_iterative(solver, inputs, SWEPT_FROM)
        self._differentiable = torch.is_grad_enabled()

    @cached_property
    def gram(self) -> Tensor:
        """K + jitter I, [n, n]."""
        # The first use may be inside the sampler, where no gradient is recorded.
        with torch.set_grad_enabled(self._differentiable):
            return self.kernel.gram(self.inputs, self.jitter) if self.block is None else self.block.gram

    @cached_property
    def _prior_factor(self) -> Tensor:
        return safe_cholesky(self.gram.detach(), self.counters) if self.block is None else self.block.factor

    @cached_property
    def _node(self) -> IterativeNode:
        return IterativeNode(self.gram.detach(), self.counters)

    def kappa_given(self, omega: Tensor) -> Tensor:
        """kappa in the likelihood of f - m given omega [C, n]: kappa - omega m, or [n] where m is zero."""
        return dense.kappa_given(self.kappa, self.mean, omega)

    def draw_prior(self, chains: int, stream: Stream) -> Tensor:
        """f ~ N(m, K), [C, n]."""
        drawn = stream.normal(chains, len(self.kappa), dtype=self.kappa.dtype) @ self._prior_factor.T
        return dense.about(self.mean, drawn)

    def draw_latents(self, omega: Tensor, stream: Stream) -> tuple[Tensor, Tensor]:
        """f ~ p(f | omega, y) and an independent draw of the prior, each [C, n]."""
        kappa = self.kappa_given(omega)
        if self.swept_iteratively:
            f, f0 = self._node.draw_latents(self._prior_factor, omega, kappa, stream)
        else:
            f, f0 = dense.draw_latents(self.gram.detach(), self._prior_factor, omega, kappa, stream)
        return dense.about(self.mean, f), dense.about(self.mean, f0)

    def sample_omega(self, chains: int, sweeps: int, stream: Stream) -> Tensor:
        """Posterior draws of omega, one a chain, [C, n]."""
        return gibbs.run(self, chains, sweeps, stream, self.counters).omega

    def cross(self, test_inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Prior covariances of training and test latents [n, T], and prior variances of the test latents [T]."""
        return self.kernel.cross(self.inputs, test_inputs), self.kernel.diagonal(test_inputs) + self.jitter

    def predict(self, test_inputs: Tensor, omega: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of f* - m* at `test_inputs` [T, d] for every chain, each [C, T]."""
        predictive = self._node.predictive if self.iterative else dense.predictive
        return predictive(self.gram, *self.cross(test_inputs), omega, self.kappa_given(omega))

    def leave_one_out(self, omega: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of every training latent without its own label, each [C, n]; see `gp.leave_one_out`."""
        leave_one_out = self._node.leave_one_out if self.iterative else full_cavity
        mu, v = leave_one_out(self.gram, omega, self.kappa_given(omega))
        return mu if self.mean is None else mu + self.mean, v

    def log_marginal(self, omega: Tensor) -> Tensor:
        """log p(y | omega) of every chain, fully normalised, [C]."""
        log_marginal = self._node.log_marginal if self.iterative else dense.log_marginal
        value = log_marginal(self.gram, omega, self.kappa_given(omega))
        if self.mean is None:
            return value
        return value + (self.mean * (self.kappa - 0.5 * omega * self.mean)).sum(-1)  # exp(kappa f - omega f^2 / 2) at m

    def posterior(self, omega: Tensor) -> tuple[Tensor, Tensor]:
        """Mean [C, n] and covariance [C, n, n] of the training latents given omega."""
        mu, covariance = dense.posterior(self.gram, omega, self.kappa_given(omega))
        return dense.about(self.mean, mu), covariance
