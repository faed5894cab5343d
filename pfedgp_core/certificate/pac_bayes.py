r"""The PAC-Bayes bound of one binary GP node: the inverse of the binary kl, and the risk and KL that enter it.

For a prior P that does not depend on the n training points, with probability 1 - delta over them, for every Q

.. math::
    R(Q) \le kl^{-1}(\hat R(Q), \epsilon), \qquad \epsilon = \frac{KL[Q \| P] + \log((n + 1) / \delta)}{n},

where R is the Gibbs risk P_{f ~ Q}(sign f != y) (paper, section 4.4 and theorem 1). The node's Q is a finite mixture of
the Gaussians q_c(f) = p(f | omega_c, y), so its KL is bounded by the mean of theirs without any estimate of a mutual
information. Conditions the caller must see to: network, kernel and class split of the node did not use these points.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.special import gammaln, logsumexp, xlogy
from torch import Tensor

from pfedgp_core.certificate.evidence import Estimate, chain_blocks, latent_marginals, log_ratio
from pfedgp_core.certificate.levels import require_level
from pfedgp_core.errors import ConfigError
from pfedgp_core.gp import dense
from pfedgp_core.numerics.linalg import safe_cholesky
from pfedgp_core.numerics.streams import Stream

__all__ = [
    "MixtureKL",
    "conditional_kl",
    "epsilon",
    "gibbs_errors",
    "kl_inverse",
    "mixture_kl",
    "mutual_information",
    "pac_bayes_bound",
]

BISECTIONS = 60
CHUNK_PAIRS = 2**24


class MixtureKL(NamedTuple):
    """KL[Q_C || P] of the mixture Q_C = mean_c q_c over the given, fixed omegas.

    Attributes
    ----------
    upper : float
        mean_c KL[q_c || P], exact; never below the KL of the mixture (convexity).
    estimate : Estimate
        ``upper`` minus the estimated mutual information of chain and f, with its Monte-Carlo standard error. A rigorous
        use adds two standard errors and takes no more than ``upper``.
    """

    upper: float
    estimate: Estimate


def kl_inverse(q: ArrayLike, eps: ArrayLike) -> np.ndarray:
    r"""Return max{p in [q, 1] : kl(q || p) <= eps}, kl(q || p) = q log(q / p) + (1 - q) log((1 - q) / (1 - p)).

    Sixty bisections of the gap p - q, elementwise. The result is the upper end of the last interval, so rounding never
    makes a bound too small. q = 0 gives 1 - exp(-eps), q = 1 gives 1.

    Parameters
    ----------
    q : array_like
        Empirical risks in [0, 1].
    eps : array_like
        Non-negative, broadcast against ``q``; infinity gives 1.

    Returns
    -------
    ndarray, float64

    Raises
    ------
    ConfigError
        A risk outside [0, 1], or an ``eps`` that is negative or NaN.
    """
    q, eps = np.broadcast_arrays(np.asarray(q, dtype=np.float64), np.asarray(eps, dtype=np.float64))
    if not ((q >= 0) & (q <= 1)).all():
        raise ConfigError(f"A risk of {q[~((q >= 0) & (q <= 1))].flat[0]} is no probability; give values from 0 to 1.")
    if not (eps >= 0).all():
        raise ConfigError(f"eps = {eps[~(eps >= 0)].flat[0]} is not a number of at least 0; check KL, n and delta.")
    low, high = np.zeros_like(q), 1 - q
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        inside = _kl_of_gap(q, middle) <= eps
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    p = np.where(eps == 0, q, np.minimum(q + high, 1.0))
    return np.where(q == 0, -np.expm1(-eps), p)


def _kl_of_gap(q: np.ndarray, gap: np.ndarray) -> np.ndarray:
    """kl(q || q + gap) = q g(gap / q) + (1 - q) g(-gap / (1 - q)) with g(x) = x - log(1 + x): no cancellation."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        near = q * _excess(np.minimum(gap / q, 1.0))
        far = gap - q * (np.log(q + gap) - np.log(q))  # for gap > q, where gap / q may overflow
        left = np.where(q == 0, gap, np.where(gap > q, far, near))
        right = np.where(q < 1, (1 - q) * _excess(-np.minimum(gap / (1 - q), 1.0)), 0.0)
    return left + right


def _excess(x: np.ndarray) -> np.ndarray:
    """x - log(1 + x) for x >= -1, by its series where the difference would cancel."""
    small = np.abs(x) < 1e-2
    t = np.where(small, x, 0.0)
    series = t * t * (1 / 2 - t * (1 / 3 - t * (1 / 4 - t * (1 / 5 - t * (1 / 6 - t * (1 / 7 - t / 8))))))
    return np.where(small, series, x - np.log1p(x))


def epsilon(kl: ArrayLike, n: int, delta: float, form: str = "seeger") -> np.ndarray:
    """Return the allowance (KL + log((n + 1) / delta)) / n or, as "maurer", (KL + log(2 sqrt(n) / delta)) / n.

    The form "sum" has the constant of which these two are bounds, sum_k binom(n, k) (k / n)^k (1 - k / n)^(n - k)
    (Maurer 2004): E exp(n kl) for independent losses in [0, 1] is at most this, at every n.

    Raises
    ------
    ConfigError
        n below 1, delta outside (0, 1), a negative KL or an unknown form.
    """
    kl = np.asarray(kl, dtype=np.float64)
    if n < 1:
        raise ConfigError(f"n = {n} is too small; a bound needs at least one training point.")
    require_level("delta", delta)
    if not (kl >= 0).all():
        raise ConfigError(f"KL = {float(kl.min())} is negative or not a number; use the upper value of mixture_kl.")
    terms = {
        "seeger": math.log((n + 1) / delta),
        "maurer": math.log(2 * math.sqrt(n) / delta),
        "sum": _log_maurer_sum(n) - math.log(delta),
    }
    if form not in terms:
        raise ConfigError(f"form = {form!r} is not known; choose one of: {', '.join(terms)}.")
    return (kl + terms[form]) / n


def _log_maurer_sum(n: int) -> float:
    """log sum_k binom(n, k) (k / n)^k (1 - k / n)^(n - k), rounded upwards."""
    k = np.arange(n + 1)
    terms = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + xlogy(k, k / n) + xlogy(n - k, 1 - k / n)
    return float(logsumexp(terms)) * (1 + 1e-9)


def pac_bayes_bound(empirical_risk: ArrayLike, kl: ArrayLike, n: int, delta: float, form: str = "seeger") -> np.ndarray:
    """Return the upper bound on the Gibbs risk, kl_inverse(empirical_risk, epsilon(kl, n, delta, form)).

    The bound is the inverse itself, not the empirical risk plus the inverse, as the paper prints it: that counts the
    risk twice. It covers the Gibbs classifier; a majority vote is covered by twice its value.
    """
    return kl_inverse(empirical_risk, epsilon(kl, n, delta, form))


def conditional_kl(covariance: Tensor, omega: Tensor, kappa: Tensor) -> Tensor:
    r"""KL[q_c || P] of every chain's Gaussian q_c = p(f | omega_c, y) from the prior N(0, K), in the B form.

    .. math::
        KL_c = \tfrac12 \left[ 2 \sum_i \log L_{ii} - n + tr(B^{-1}) + \alpha' K \alpha \right], \qquad
        B = I + D K D = L L'.

    Parameters
    ----------
    covariance : Tensor [n, n]
        Prior covariance of the training latents.
    omega : Tensor [C, n]
    kappa : Tensor [n]

    Returns
    -------
    Tensor, float64 [C]
    """
    K, kappa = covariance.detach().double(), kappa.double()
    parts = []
    for block in chain_blocks(omega):
        d, L = dense.factorise(K, block)
        alpha = dense.solve_alpha(d, L, kappa)
        log_det = 2 * L.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        trace = torch.cholesky_inverse(L).diagonal(dim1=-2, dim2=-1).sum(-1)
        parts.append(0.5 * (log_det - len(kappa) + trace + ((alpha @ K) * alpha).sum(1)))
    return torch.cat(parts)


def gibbs_errors(covariance: Tensor, omega: Tensor, kappa: Tensor) -> Tensor:
    """P(sign f_i != y_i | omega_c) = Phi(-s_i m_ci / sqrt(Sigma_c,ii)), float64 [C, n].

    The mean over chains is the error of each training point, the mean over all is the empirical Gibbs risk of the
    mixture, without sampling. It speaks about the training latents, as the KL does.
    """
    mean, variance = latent_marginals(covariance, omega, kappa)
    risks: Tensor = torch.special.ndtr(-2 * kappa.double() * mean / variance.clamp_min(1e-300).sqrt())
    return risks


def mixture_kl(covariance: Tensor, omega: Tensor, kappa: Tensor, stream: Stream, draws: int = 10) -> MixtureKL:
    r"""KL of the finite mixture of the chains' Gaussians from the prior: a rigorous upper value and a tighter estimate.

    .. math::
        KL[Q_C \| P] = \frac1C \sum_c KL_c - MI_C, \qquad
        MI_C = \frac1C \sum_c E_{f \sim q_c} \log \frac{q_c(f)}{\frac1C \sum_j q_j(f)}.

    The inner sum includes j = c, exactly as the mixture does, so nothing but Monte-Carlo error enters.

    Parameters
    ----------
    covariance : Tensor [n, n]
    omega : Tensor [C, n]
        The chains of the deployed predictor.
    kappa : Tensor [n]
    stream : Stream
    draws : int, default 10
        Latent draws a chain.
    """
    K, omega, kappa = covariance.detach().double(), omega.detach().double(), kappa.double()
    upper = float(conditional_kl(K, omega, kappa).mean())
    prior_factor = safe_cholesky(K)
    chain = torch.arange(len(omega), device=omega.device)
    excess = []
    for _ in range(draws):
        f = torch.cat([dense.draw_latents(K, prior_factor, block, kappa, stream)[0] for block in chain_blocks(omega)])
        ratio = log_ratio(f, K, omega, kappa)
        excess.append(ratio[chain, chain] - torch.logsumexp(ratio, 1) + math.log(len(omega)))
    information = torch.cat(excess)
    error = float(information.std() / math.sqrt(len(information))) if len(information) > 1 else math.inf
    return MixtureKL(upper, Estimate(upper - float(information.mean()), error))


def mutual_information(f: Tensor, omega: Tensor, inclusive: bool = True) -> Estimate:
    r"""Estimate MI[f; omega] under Q from T independent pairs, without evaluating a Polya-Gamma density.

    .. math::
        MI = -\frac1T \sum_i \log \operatorname{mean}_j \frac{Q(\omega_i \mid f_j)}{Q(\omega_i \mid f_i)}, \qquad
        \log \frac{Q(\omega_i \mid f_j)}{Q(\omega_i \mid f_i)}
          = \sum_n -\tfrac12 \omega_{in} (f_{jn}^2 - f_{in}^2)
            + \log \cosh \tfrac{f_{jn}}2 - \log \cosh \tfrac{f_{in}}2,

    as the factor of the density that depends on omega alone cancels.

    Parameters
    ----------
    f, omega : Tensor [T, n]
        Pairs from the joint posterior, each from its own chain.
    inclusive : bool, default True
        Whether the mean runs over all j, which errs downwards in expectation (a KL that subtracts it errs upwards, to
        the safe side), or leaves j = i out, as in the paper, which errs upwards.

    Raises
    ------
    ConfigError
        Fewer than two pairs.
    """
    T = len(f)
    if T < 2:
        raise ConfigError(f"{T} pairs say nothing about a mutual information; give at least 2 chains.")
    f, omega = f.double(), omega.double()
    square, normaliser = f.square(), _log_cosh(f / 2).sum(1)
    rows = torch.arange(T, device=f.device)
    log_means = []
    for part in rows.split(max(1, CHUNK_PAIRS // T)):
        log_q = normaliser - 0.5 * omega[part] @ square.T  # [rows, T]
        own = log_q.gather(1, part[:, None])
        if not inclusive:
            log_q = log_q.scatter(1, part[:, None], -math.inf)
        log_means.append(torch.logsumexp(log_q - own, 1) - math.log(T if inclusive else T - 1))
    values = -torch.cat(log_means)
    return Estimate(float(values.mean()), float(values.std() / math.sqrt(T)))


def _log_cosh(x: Tensor) -> Tensor:
    size = x.abs()
    return size + torch.log1p(torch.exp(-2 * size)) - math.log(2.0)
