r"""The expectation of the sigmoid under a normal law in closed form: the sigmoid as a mixture of eight probits.

.. math::
    \sigma(x) \approx \sum_k p_k \Phi(s_k x), \qquad
    P(\mu, v) := \sum_k p_k \Phi\Big(\frac{\mu}{\sqrt{s_k^{-2} + v}}\Big) \approx E_{N(\mu, v)} \sigma(f)

(Monahan and Stefanski 1992; every probit is exact under a normal). The first error is below 3e-9 at every x, so the
second is at every variance. The relative error in the tail would be large, because a probit falls faster than the
sigmoid. There the identity, with a > 0,

.. math::
    E_{N(-a, v)} \sigma(f) = e^{-a + v/2} \, E_{N(a - v, v)} \sigma(f)

(from sigma(f) = e^f sigma(-f)) leads back to a larger probability: it serves where a > v / 2, and keeps the error of
the logarithm below 2e-6, or 5e-7 of it where it is large.
"""

import math
from functools import lru_cache

import torch
from torch import Tensor

from pfedgp_core.numerics.deferred import holds

__all__ = ["mixture", "small_side"]

_WEIGHTS = (
    0.003246343272134,
    0.051517477033972,
    0.195077912673858,
    0.315569823632818,
    0.274149576158423,
    0.131076880695470,
    0.027912418727972,
    0.001449567805354,
)
_SLOPES = (
    1.365340806296348,
    1.059523971016916,
    0.830791313765644,
    0.650732166639391,
    0.508135425366489,
    0.396313345166341,
    0.308904252267995,
    0.238212616409306,
)


@lru_cache(maxsize=8)
def mixture(dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    """p_k, which sum to 1, and s_k^-2, [8] each."""
    with torch.inference_mode(False):  # a cached inference tensor would break a later backward pass
        weights, slopes = (torch.tensor(values, dtype=torch.float64) for values in (_WEIGHTS, _SLOPES))
        return (weights / weights.sum()).to(device, dtype), slopes.pow(-2).to(device, dtype)


def small_side(mu: Tensor, v: Tensor, slopes: bool) -> tuple[Tensor, ...]:
    """The logarithms of A = E_{N(-|mu|, v)} sigma(f), the less probable side, and of 1 - A.

    Parameters
    ----------
    mu, v : Tensor
        Of one shape; v is positive.
    slopes : bool
        Whether the derivatives are wanted.

    Returns
    -------
    tuple of Tensor
        log A and log(1 - A); with `slopes` also the derivatives of both by -|mu| and by sqrt(v), [..., 2] each.
    """
    p, widths = mixture(mu.dtype, mu.device)
    a, flat = mu.abs(), v.reshape(-1)
    far = a > 0.5 * v
    mean, shift = torch.where(far, a - v, -a), torch.where(far, 0.5 * v - a, 0.0)
    # Terms come first, [8, N]: their sums are products with p.
    scale = (widths[:, None] + flat).rsqrt_()
    z = scale * mean.reshape(-1)
    value = ((0.5 * p) @ torch.erfc(z * -math.sqrt(0.5))).view_as(mu)
    log_value = value.log()
    # erfc keeps its relative accuracy until it underflows; only then are logarithms needed.
    tiny = value < 1e8 * torch.finfo(mu.dtype).tiny
    if not holds(~tiny.any()):
        log_terms = torch.special.log_ndtr(z[:, tiny.reshape(-1)]) + p.log()[:, None]
        log_value[tiny] = torch.logsumexp(log_terms, 0)
    log_small = log_value + shift
    small = log_small.exp()
    log_large = torch.log1p(-small)
    if not slopes:
        return log_small, log_large
    # By the mean: sum p_k phi(z_k) scale_k / P; by the variance: -mean / 2 sum p_k phi(z_k) scale_k^3 / P.
    density = torch.addcmul(log_value.reshape(-1), z, z, value=0.5).neg_().exp_().mul_(scale)
    weights = p * (2 * math.pi) ** -0.5
    by_mean = (weights @ density).view_as(mu)
    by_variance = (weights @ density.mul_(scale).mul_(scale)).view_as(mu) * (-0.5 * mean)
    by_variance = torch.where(far, by_variance - by_mean + 0.5, by_variance)
    by_mean = torch.where(far, 1 - by_mean, by_mean)
    d_small = torch.stack((by_mean, by_variance * (2 * v.sqrt())), -1)
    return log_small, log_large, d_small, d_small * (small / (small - 1))[..., None]
