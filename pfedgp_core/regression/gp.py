r"""GP regression with Gaussian noise of variance s^2, on the full GP and on FITC, and the scaling of targets.

There is one Gaussian posterior and no sampling. Everything is differentiable by autograd, also in the targets (learned
targets of inducing inputs), in the noise variance and in the scales of the kernel. Nothing bounds K / s^2 as 1/4 bounds
omega in a classifier, and there are no chains to pay for, so the work is done in float64 whatever the inputs are.

Inducing inputs with targets of their own (IP-data) need no class of their own: train `FullRegression` on
(inducing inputs, their targets), predict with one on the stack of client data and inducing inputs.
"""

import math
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.gp import dense
from pfedgp_core.gp.projection import Projection
from pfedgp_core.kernels.base import Kernel
from pfedgp_core.numerics.linalg import safe_cholesky

__all__ = ["FITCRegression", "FullRegression", "Standardiser"]

LOG_TWO_PI = math.log(2.0 * math.pi)


class _Regression(ABC):
    """What both priors share: precision, noise, density. A prior provides `_moments` and `_evidence` in float64."""

    def __init__(self, kernel: Kernel, inputs: Tensor, targets: Tensor, noise_variance: float | Tensor, jitter: float):
        self.kernel, self.jitter, self.dtype = kernel, jitter, targets.dtype
        self.inputs, self.targets = inputs.double(), targets.double()
        self.noise_variance = torch.as_tensor(noise_variance, dtype=torch.float64, device=targets.device)
        if not bool(self.noise_variance > 0):
            raise ConfigError(f"Noise variance {self.noise_variance.item():g} cannot be used; give a positive number.")

    @abstractmethod
    def _moments(self, test_inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of f*, each [T]."""

    @abstractmethod
    def _evidence(self) -> Tensor:
        """log p(y), 0-d."""

    @abstractmethod
    def inner(self, a: Tensor, b: Tensor) -> Tensor:
        """a' (K + s^2 I)^-1 b for a and b [n] in float64, 0-d; K is the prior covariance of the training latents."""

    @abstractmethod
    def weigh(self, test_inputs: Tensor, values: Tensor) -> Tensor:
        """k*' (K + s^2 I)^-1 values at `test_inputs` [T, d] for values [n] in float64, [T]: the mean if they were y."""

    def predict(self, test_inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of the latent f* at `test_inputs` [T, d], each [T]. A target has `noise_variance` more."""
        mu, v = self._moments(test_inputs.double())
        return mu.to(self.dtype), v.to(self.dtype)

    def log_density(self, test_inputs: Tensor, targets: Tensor) -> Tensor:
        """log N(y*; mu*, v* + s^2) of each held-out target, [T]. Minus its mean is the training loss."""
        mu, v = self._moments(test_inputs.double())
        variance = v + self.noise_variance
        density = -0.5 * ((targets - mu).square() / variance + variance.log() + LOG_TWO_PI)
        return density.to(self.dtype)

    def log_marginal(self) -> Tensor:
        """log p(y), fully normalised, 0-d."""
        return self._evidence().to(self.dtype)


class FullRegression(_Regression):
    r"""The full GP with Gaussian noise.

    With B = I + K / s^2 = L L' and alpha = (K + s^2 I)^-1 y = B^-1 y / s^2:
    mu* = k*' alpha, v* = k** - |L^-1 k*|^2 / s^2, log p(y) = -y' alpha / 2 - sum log L_ii - (n / 2) log(2 pi s^2).

    Parameters
    ----------
    kernel : Kernel
    inputs : Tensor [n, d]
    targets : Tensor [n]
        Standardised, see `Standardiser`.
    noise_variance : float or 0-d Tensor
        s^2 > 0.
    jitter : float
        In the Gram matrix and in the prior variance of a test latent.
    counters : Counter, optional
        Receives the numerical recoveries.

    Raises
    ------
    ConfigError
        The noise variance is not positive.
    """

    def __init__(
        self,
        kernel: Kernel,
        inputs: Tensor,
        targets: Tensor,
        noise_variance: float | Tensor,
        jitter: float,
        counters: Counter[str] | None = None,
    ) -> None:
        super().__init__(kernel, inputs, targets, noise_variance, jitter)
        self.counters = counters

    @cached_property
    def _solved(self) -> tuple[Tensor, Tensor]:
        """L [n, n] and alpha [n]."""
        B = self.kernel.gram(self.inputs, self.jitter) / self.noise_variance
        L = safe_cholesky(B + torch.eye(len(B), dtype=B.dtype, device=B.device), self.counters)
        return L, torch.cholesky_solve(self.targets[:, None], L)[:, 0] / self.noise_variance

    def _moments(self, test_inputs: Tensor) -> tuple[Tensor, Tensor]:
        L, alpha = self._solved
        cross = self.kernel.cross(self.inputs, test_inputs)
        explained = torch.linalg.solve_triangular(L, cross, upper=False).square().sum(0) / self.noise_variance
        return alpha @ cross, (self.kernel.diagonal(test_inputs) + self.jitter - explained).clamp_min(0)

    def inner(self, a: Tensor, b: Tensor) -> Tensor:
        """See `_Regression`."""
        L, _ = self._solved
        return a @ torch.cholesky_solve(b[:, None], L)[:, 0] / self.noise_variance

    def weigh(self, test_inputs: Tensor, values: Tensor) -> Tensor:
        """See `_Regression`."""
        L, _ = self._solved
        weights = torch.cholesky_solve(values[:, None], L)[:, 0] / self.noise_variance
        return weights @ self.kernel.cross(self.inputs, test_inputs.double())

    def _evidence(self) -> Tensor:
        L, alpha = self._solved
        noise = 0.5 * len(alpha) * (self.noise_variance.log() + LOG_TWO_PI)
        return -0.5 * self.targets @ alpha - L.diagonal().log().sum() - noise


class FITCRegression(_Regression):
    r"""FITC with Gaussian noise, O(n M^2) time and O(n M) memory.

    `fitc_algebra` with w = 1 / s^2 and kappa = y / s^2: g = 1 / (s^2 + d), h = y / (s^2 + d),
    B = I + A diag(g) A' = L L', c = L^-1 A h; mu* = (L^-1 A*)' c, v* = d* + colsum((L^-1 A*)^2),
    log p(y) = c'c / 2 - sum log L_ii - sum log(2 pi (s^2 + d)) / 2 - sum y^2 / (s^2 + d) / 2.

    Parameters
    ----------
    kernel : Kernel
    inputs : Tensor [n, d]
    targets : Tensor [n]
    inducing : Tensor [M, d]
    noise_variance : float or 0-d Tensor
    jitter : float
        In K_mm, in k_ii and in the prior variance of a test latent.
    counters : Counter, optional

    Raises
    ------
    ConfigError
        The noise variance is not positive.
    DataError
        There is no inducing input.
    """

    def __init__(
        self,
        kernel: Kernel,
        inputs: Tensor,
        targets: Tensor,
        inducing: Tensor,
        noise_variance: float | Tensor,
        jitter: float,
        counters: Counter[str] | None = None,
    ) -> None:
        super().__init__(kernel, inputs, targets, noise_variance, jitter)
        self.projection = Projection(kernel, inducing.double(), jitter, counters)
        self.counters = counters

    @cached_property
    def _projected(self) -> tuple[Tensor, Tensor]:
        return self.projection(self.inputs)

    @cached_property
    def _solved(self) -> tuple[Tensor, Tensor]:
        """L [M, M] and c [M]."""
        A, d = self._projected
        total = self.noise_variance + d
        B = (A / total) @ A.T
        L = safe_cholesky(B + torch.eye(len(B), dtype=B.dtype, device=B.device), self.counters)
        return L, _projected_values(L, A, self.targets / total)

    def _moments(self, test_inputs: Tensor) -> tuple[Tensor, Tensor]:
        L, c = self._solved
        A_star, d_star = self.projection(test_inputs)
        V = torch.linalg.solve_triangular(L, A_star, upper=False)
        return c @ V, d_star + V.square().sum(0)

    def inner(self, a: Tensor, b: Tensor) -> Tensor:
        """See `_Regression`."""
        L, _ = self._solved
        A, d = self._projected
        total = self.noise_variance + d
        explained: Tensor = _projected_values(L, A, a / total) @ _projected_values(L, A, b / total)
        return (a * b / total).sum() - explained

    def weigh(self, test_inputs: Tensor, values: Tensor) -> Tensor:
        """See `_Regression`."""
        L, _ = self._solved
        A, d = self._projected
        A_star, _ = self.projection(test_inputs.double())
        c = _projected_values(L, A, values / (self.noise_variance + d))
        mean: Tensor = c @ torch.linalg.solve_triangular(L, A_star, upper=False)
        return mean

    def _evidence(self) -> Tensor:
        L, c = self._solved
        total = self.noise_variance + self._projected[1]
        spread = (total.log() + LOG_TWO_PI + self.targets.square() / total).sum()
        return 0.5 * c @ c - L.diagonal().log().sum() - 0.5 * spread

    def posterior(self) -> tuple[Tensor, Tensor]:
        """Mean [n] and covariance [n, n] of the training latents; only for small n."""
        A, d = self._projected
        precision = torch.ones_like(d) / self.noise_variance
        mean, covariance = dense.posterior(A.T @ A + torch.diag_embed(d), precision[None], self.targets * precision)
        return mean[0].to(self.dtype), covariance[0].to(self.dtype)

    def inducing_posterior(self) -> tuple[Tensor, Tensor]:
        """Mean [M] and covariance [M, M] of the inducing latents, without gradient."""
        L, c = (t.detach() for t in self._solved)
        root = torch.linalg.solve_triangular(L, self.projection.factor.T, upper=False)
        return (c @ root).to(self.dtype), (root.T @ root).to(self.dtype)


def _projected_values(L: Tensor, A: Tensor, values: Tensor) -> Tensor:
    """L^-1 A values, [M]."""
    solved: Tensor = torch.linalg.solve_triangular(L, (A @ values)[:, None], upper=False)[:, 0]
    return solved


@dataclass(frozen=True)
class Standardiser:
    """y -> (y - mean) / deviation, for one client, from its training targets only.

    Attributes
    ----------
    mean, deviation : float
    """

    mean: float
    deviation: float

    @classmethod
    def fit(cls, targets: Tensor) -> "Standardiser":
        """Mean and standard deviation of targets [n]; the deviation of equal targets, or of one, counts as 1.

        Raises
        ------
        DataError
            There are no targets, or one is NaN or infinite.
        """
        if not targets.numel() or not bool(torch.isfinite(targets).all()):
            raise DataError(f"{targets.numel()} targets cannot be standardised; give finite numbers, one at least.")
        values = targets.detach().double()
        mean = float(values.mean())
        deviation = float((values - mean).square().mean().sqrt())
        rounding = 4 * torch.finfo(targets.dtype).eps * float(values.abs().max())
        return cls(mean, deviation if deviation > rounding else 1.0)

    def apply(self, targets: Tensor) -> Tensor:
        """Targets in standard units."""
        return (targets - self.mean) / self.deviation

    def undo_mean(self, mean: Tensor) -> Tensor:
        """A predicted mean in the units of the targets."""
        return mean * self.deviation + self.mean

    def undo_variance(self, variance: Tensor) -> Tensor:
        """A predicted variance in the squared units of the targets."""
        return variance * self.deviation**2

    def undo_log_density(self, log_density: Tensor) -> Tensor:
        """A log density of standardised targets as one of the targets."""
        return log_density - math.log(self.deviation)
