r"""log p(y) and KL[Q(f) || P(f)] of a binary GP node: exactly for at most four points, by Chib's identity for more.

Everything takes the prior covariance of the training latents, so it serves the full GP (K + jitter I) and FITC
(Q + diag(d)) alike. All results are float64; the mean of log p(y | omega) over posterior omegas is never used as
evidence, because it exceeds log p(y) by KL(Q(omega) || PG(1, 0)).

The ratio of a Gaussian q_c(f) = p(f | omega_c, y) to the prior follows from Bayes' rule without any inverse,

.. math::
    \log \frac{q_c(f)}{p(f)} = -n \log 2 + \kappa' f - \tfrac12 \sum_i \omega_{ci} f_i^2 - \log p(y \mid \omega_c).
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from pfedgp_core.errors import ConfigError
from pfedgp_core.gp import dense
from pfedgp_core.numerics.linalg import safe_cholesky
from pfedgp_core.numerics.quadrature import expected_log_sigmoid

__all__ = [
    "Estimate",
    "ExactPosterior",
    "chain_blocks",
    "chib_kl",
    "chib_log_evidence",
    "exact_posterior",
    "expected_log_likelihood",
    "latent_marginals",
    "log_marginals",
    "log_ratio",
]

MAX_EXACT = 4
MAX_NODES = 300_000_000  # beyond, a huge prior variance would take minutes
RADIUS = 9.0  # of the whitened ball of nodes: a standard normal in 4 dimensions leaves 1e-16 outside
DIGITS = 32.0  # -log of the trapezoid rule's error
CHUNK_ELEMENTS = 2**24  # float64 numbers in one [c, n, n] block
EXPECTATION_NODES = 64


class ExactPosterior(NamedTuple):
    """log p(y), KL[Q(f) || P(f)], and the mean [n] and covariance [n, n] of Q(f) = p(f | y)."""

    log_evidence: float
    kl: float
    mean: Tensor
    covariance: Tensor


class Estimate(NamedTuple):
    """A Monte-Carlo estimate and its standard error."""

    value: float
    standard_error: float


def exact_posterior(covariance: Tensor, labels: Tensor) -> ExactPosterior:
    r"""Moments of p(f | y) by a tensor-product trapezoid rule in whitened latent space, f = L z.

    .. math::
        p(y) = \int N(z; 0, I) \prod_i \sigma(s_i (L z)_i) \, dz, \qquad
        KL[Q \| P] = E_Q \sum_i \log \sigma(s_i f_i) - \log p(y).

    The integrand is analytic up to the poles of sigma at f_i = i pi, so the rule converges exponentially; the step of
    axis j, h_j = 2 pi b / (32 + b^2 / 2) with b = min(8, pi / max_i |L_ij|), leaves an error of about 1e-14.

    Parameters
    ----------
    covariance : Tensor [n, n]
        Prior covariance of the training latents, n <= 4.
    labels : Tensor [n]
        1 = left, 0 = right.

    Raises
    ------
    ConfigError
        More than four points, or a prior variance so large that the grid would not fit.
    """
    n = len(labels)
    if n > MAX_EXACT:
        raise ConfigError(f"Quadrature over {n} latents is out of reach; use chib_log_evidence above {MAX_EXACT}.")
    L = safe_cholesky(covariance.detach().double())
    sign = labels.to(L) * 2 - 1
    axes, volume = _axes(L)
    if math.prod(len(axis) for axis in axes) > MAX_NODES:
        largest = float(covariance.max())
        raise ConfigError(f"A prior variance of {largest:g} needs too fine a grid; use chib_log_evidence.")
    # The first axis is walked through, the others are one block; at n = 4 a block has up to 80^3 nodes.
    rest = torch.cartesian_prod(*axes[1:]).reshape(-1, n - 1) if n > 1 else L.new_zeros(1, 0)
    sums = [L.new_zeros(()), L.new_zeros(()), L.new_zeros(n), L.new_zeros(n, n)]
    squared = rest.square().sum(1)
    for first in axes[0]:
        inside = rest[squared <= RADIUS**2 - first.square()]
        z = torch.cat([first.expand(len(inside), 1), inside], dim=1)
        f = z @ L.T
        log_likelihood = torch.nn.functional.logsigmoid(sign * f).sum(1)
        weight = torch.exp(log_likelihood - 0.5 * z.square().sum(1))
        terms = (weight.sum(), weight @ log_likelihood, weight @ f, (weight[:, None] * f).T @ f)
        for total, term in zip(sums, terms, strict=True):
            total.add_(term)
    mass, log_likelihood_sum, first_moment, second_moment = sums
    log_evidence = float(mass.log()) + volume - 0.5 * n * math.log(2 * math.pi)
    mean = first_moment / mass
    kl = float(log_likelihood_sum / mass) - log_evidence
    return ExactPosterior(log_evidence, kl, mean, second_moment / mass - mean[:, None] * mean)


def _axes(L: Tensor) -> tuple[list[Tensor], float]:
    """Trapezoid nodes of every whitened axis and the log of the product of the steps."""
    axes, log_volume = [], 0.0
    for column in L.abs().amax(0).tolist():
        b = min(8.0, math.pi / max(column, 1e-300))
        step = 2 * math.pi * b / (DIGITS + b * b / 2)
        half = math.ceil(RADIUS / step)
        axes.append(torch.arange(-half, half + 1, dtype=torch.float64, device=L.device) * step)
        log_volume += math.log(step)
    return axes, log_volume


def log_marginals(covariance: Tensor, omega: Tensor, kappa: Tensor) -> Tensor:
    """log p(y | omega) of every chain, float64 [C], in blocks of chains that fit in memory."""
    K, kappa = covariance.detach().double(), kappa.double()
    return torch.cat([dense.log_marginal(K, block, kappa) for block in chain_blocks(omega)])


def latent_marginals(covariance: Tensor, omega: Tensor, kappa: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of each training latent given omega, float64, each [C, n].

    These are the latents that the bound's Gibbs risk speaks about, not a fresh prediction at the same inputs, which
    would carry another nugget.
    """
    K, kappa = covariance.detach().double(), kappa.double()
    parts = [dense.posterior(K, block, kappa) for block in chain_blocks(omega)]
    mean = torch.cat([m for m, _ in parts])
    return mean, torch.cat([S.diagonal(dim1=-2, dim2=-1) for _, S in parts]).clamp_min(0.0)


def log_ratio(f: Tensor, covariance: Tensor, omega: Tensor, kappa: Tensor) -> Tensor:
    """log q_c(f_s) / p(f_s) of every draw under every chain's Gaussian, by one matrix product.

    Parameters
    ----------
    f : Tensor [S, n]
    covariance : Tensor [n, n]
    omega : Tensor [C, n]
    kappa : Tensor [n]

    Returns
    -------
    Tensor, float64 [S, C]
    """
    f, kappa = f.double(), kappa.double()
    linear = f @ kappa - f.shape[1] * math.log(2.0)
    return linear[:, None] - 0.5 * f.square() @ omega.double().T - log_marginals(covariance, omega, kappa)


def expected_log_likelihood(covariance: Tensor, omega: Tensor, kappa: Tensor) -> Tensor:
    """E sum_i log sigma(s_i f_i) under every chain's Gaussian q_c, float64 [C], by Gauss-Hermite quadrature."""
    mean, variance = latent_marginals(covariance, omega, kappa)
    sign = 2 * kappa.double()
    return expected_log_sigmoid(sign * mean, variance, EXPECTATION_NODES)[0].sum(1)


def chib_log_evidence(covariance: Tensor, omega: Tensor, kappa: Tensor) -> Estimate:
    r"""Chib's estimate of log p(y) from posterior omegas (Chib 1995, with the Rao-Blackwellised ordinate).

    .. math::
        \log p(y) = \log p(y \mid f_o) + \log p(f_o) - \log \frac1C \sum_c q_c(f_o), \qquad f_o = \frac1C \sum_c m_c.

    Parameters
    ----------
    covariance : Tensor [n, n]
    omega : Tensor [C, n]
        Independent draws of Q(omega) = p(omega | y).
    kappa : Tensor [n]

    Returns
    -------
    Estimate
        With the standard error of the delta method.
    """
    value, relative = _chib(covariance, omega, kappa)
    return Estimate(value, _standard_error(relative))


def chib_kl(covariance: Tensor, omega: Tensor, kappa: Tensor) -> Estimate:
    """KL[Q(f) || P(f)] = E_Q sum_i log sigma(s_i f_i) - log p(y) with Chib's log p(y); same arguments.

    Both terms come from the same omegas, so the standard error is that of their combined influence values.
    """
    log_evidence, relative = _chib(covariance, omega, kappa)
    fit = expected_log_likelihood(covariance, omega, kappa)
    return Estimate(float(fit.mean()) - log_evidence, _standard_error(fit + relative))


def _chib(covariance: Tensor, omega: Tensor, kappa: Tensor) -> tuple[float, Tensor]:
    """Chib's log p(y), and q_c(f_o) relative to its mean over chains, [C]."""
    kappa = kappa.double()
    f = latent_marginals(covariance, omega, kappa)[0].mean(0, keepdim=True)
    ratio = log_ratio(f, covariance, omega, kappa)[0]
    log_mean = torch.logsumexp(ratio, 0) - math.log(len(ratio))
    log_likelihood = torch.nn.functional.logsigmoid(2 * kappa * f).sum()
    return float(log_likelihood - log_mean), torch.exp(ratio - log_mean)


def _standard_error(values: Tensor) -> float:
    return float(values.std() / math.sqrt(len(values))) if len(values) > 1 else math.inf


def chain_blocks(omega: Tensor) -> tuple[Tensor, ...]:
    """Split omega [C, n] by chains, as float64, so that one [c, n, n] tensor stays within 128 MB."""
    omega = omega.detach().double()
    blocks: tuple[Tensor, ...] = omega.split(max(1, CHUNK_ELEMENTS // omega.shape[1] ** 2))
    return blocks
