"""Polya-Gamma variables PG(1, z): draws with guards, and the first two moments.

A PG(1, z) variable is the infinite sum of independent standard exponentials g_k (paper, section 3.2)

    omega = 1 / (2 pi^2) sum_k g_k / ((k - 1/2)^2 + z^2 / (4 pi^2)),

it depends on |z| only, and for |z| > 20 it is an inverse Gaussian of mean 1 / (2|z|) and shape 1/4 up to a relative
error of 3 exp(-2|z|), below 1e-16.
"""

import math
from functools import lru_cache

import numpy as np
import torch
from polyagamma import random_polyagamma
from torch import Tensor

from pfedgp_core.errors import NonFiniteError
from pfedgp_core.numerics.pg_quantiles import sample_by_quantiles

__all__ = ["WALD_ABOVE", "pg_mean", "pg_variance", "sample_pg", "sample_pg_torch"]

WALD_ABOVE = 20.0
"""Tilts |z| above this are drawn as inverse Gaussians."""

_MANY = 512  # below, the calls that the table takes cost more than the sampler
_TERMS = 16  # exponential terms that sample_pg_torch draws exactly; 8 leave the lower tail 1-2 % off, 32 gain nothing


def sample_pg(z: Tensor, rng: np.random.Generator) -> Tensor:
    """Draw PG(1, z) elementwise with ``polyagamma``'s exact rejection sampler, behind a guard.

    The sampler itself never returns for a NaN and returns a wrong constant for |z| >= 178. So nothing non-finite
    reaches it, and every |z| > ``WALD_ABOVE`` is drawn as an inverse Gaussian. Many float32 tilts at once are drawn by
    `pg_quantiles`, which has the same law.

    Parameters
    ----------
    z : Tensor
        Tilts of any shape and sign.
    rng : np.random.Generator
        Advances; the same state gives the same draws.

    Returns
    -------
    Tensor
        Positive draws of the shape, dtype and device of ``z``, without gradient.

    Raises
    ------
    NonFiniteError
        ``z`` holds NaN or infinity.
    """
    if z.numel() == 0:
        return torch.empty_like(z, requires_grad=False)
    tilt = z.detach().to("cpu", torch.float64 if z.dtype == torch.float64 else torch.float32).contiguous()
    low, high = (float(end) for end in tilt.aminmax())  # one pass finds NaN, infinity and the largest tilt
    if not (math.isfinite(low) and math.isfinite(high)):
        raise NonFiniteError(
            f"{int((~tilt.isfinite()).sum())} of {tilt.numel()} latent values are NaN or infinite; "
            "lower learning-rate or raise gp.jitter."
        )
    draw = _draw if max(-low, high) <= WALD_ABOVE else _draw_mixed
    omega = torch.from_numpy(draw(tilt.numpy().ravel(), rng)).view(tilt.shape)
    return omega.to(z.device, z.dtype)


def _draw(tilt: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if tilt.dtype == np.float32 and len(tilt) >= _MANY:
        return sample_by_quantiles(tilt, rng)
    omega = np.zeros_like(tilt)  # read by the sampler's cast to double, so it must hold numbers
    random_polyagamma(1, tilt, out=omega, random_state=rng, disable_checks=True)
    return omega


def _draw_mixed(tilt: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """As `_draw`, where some tilts are too large for the rejection sampler."""
    size, omega = np.abs(tilt.astype(np.float64)), np.empty_like(tilt)
    large = size > WALD_ABOVE
    omega[~large] = _draw(tilt[~large], rng)
    smallest = np.finfo(omega.dtype).tiny  # 1 / (2|z|) underflows for |z| near the end of the range
    omega[large] = np.maximum(rng.wald(0.5 / size[large], 0.25), smallest)
    return omega


def sample_pg_torch(z: Tensor, generator: torch.Generator) -> Tensor:
    """Draw PG(1, z) elementwise with torch alone, on any device, without rejection and without a host round trip.

    The first 16 terms of the series are drawn exactly. The rest of the series is drawn as a gamma variable with the
    mean and the variance of that rest, through the Wilson-Hilferty cube of a normal. |z| > ``WALD_ABOVE`` is drawn
    as an inverse Gaussian (Michael, Schucany and Haas 1976, in a form without cancellation). A million draws cannot
    be told from exact ones by mean, variance, Kolmogorov-Smirnov distance or the quantiles 1e-4 to 0.999.

    Parameters
    ----------
    z : Tensor
        Tilts of any shape and sign, on the device of the generator.
    generator : torch.Generator
        Advances; the same state gives the same draws on the same kind of device.

    Returns
    -------
    Tensor
        Positive draws of the shape, dtype and device of ``z``, without gradient. **NaN where z is NaN or infinite**:
        raising would need a synchronisation in every Gibbs sweep, so the caller checks once, after the last sweep.
    """
    tilt = z.detach().abs()
    if tilt.dtype in (torch.float16, torch.bfloat16):
        tilt = tilt.float()
    normal = torch.randn(tilt.shape, generator=generator, dtype=tilt.dtype, device=tilt.device)
    uniform = torch.rand(tilt.shape, generator=generator, dtype=tilt.dtype, device=tilt.device)
    terms = torch.empty((*tilt.shape, _TERMS), dtype=tilt.dtype, device=tilt.device).exponential_(generator=generator)

    square = (tilt.clamp(max=WALD_ABOVE) / (2 * math.pi)).square()
    head = terms.div_(square[..., None] + _half_integers_squared(tilt.dtype, tilt.device)).sum(-1)
    mean, variance = _tail_moments(square)
    inverse_shape = variance / mean.square()
    cube_root = 1 - inverse_shape / 9 + normal * (inverse_shape.sqrt() / 3)
    series = (head + mean * cube_root.pow(3)) / (2 * math.pi**2)

    wald_mean = 0.5 / tilt.clamp(min=WALD_ABOVE)
    skew = 2 * wald_mean * normal.square()
    root = 1 + skew + (skew * (skew + 2)).sqrt()  # mean / root and mean * root solve the quadratic of the method
    wald = wald_mean * torch.where(uniform * (root + 1) <= root, 1 / root, root)

    omega = torch.where(tilt > WALD_ABOVE, wald, series).clamp_min(torch.finfo(tilt.dtype).tiny)
    return (omega + (tilt - tilt)).to(z.dtype)  # tilt - tilt is 0, or NaN where z is not finite


@lru_cache(maxsize=16)
def _half_integers_squared(dtype: torch.dtype, device: torch.device) -> Tensor:
    return (torch.arange(1, _TERMS + 1, dtype=dtype, device=device) - 0.5).square()  # [16]


def _tail_moments(square: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of sum_{k > K} g_k / ((k - 1/2)^2 + a^2), given a^2 with (a / K)^2 < 0.04.

    The sums of 1/d_k and 1/d_k^2 follow from the midpoint Euler-Maclaurin formula
    sum_{k > K} h(k - 1/2) = int_K^inf h + h'(K) / 24, the integrals as alternating series in r = (a / K)^2.
    """
    terms = float(_TERMS)
    r = square / terms**2
    mean = 1 - r * (1 / 3 - r * (1 / 5 - r * (1 / 7 - r / 9))) - 1 / (12 * terms**2 * (1 + r).square())
    variance = 1 / 3 - r * (2 / 5 - r * (3 / 7 - r * (4 / 9 - r * 5 / 11))) - 1 / (6 * terms**2 * (1 + r).pow(3))
    return mean / terms, variance / terms**3


def pg_mean(z: Tensor) -> Tensor:
    """Mean of PG(1, z), tanh(z / 2) / (2 z), elementwise; 1/4 at z = 0."""
    half = z.double().abs() / 2
    small = half < 0.05
    x = torch.where(small, 1.0, half)
    s = torch.where(small, half, 0.0).square()
    series = 1 - s * (1 / 3 - s * (2 / 15 - s * (17 / 315 - s * 62 / 2835)))
    return (torch.where(small, series, torch.tanh(x) / x) / 4).to(z.dtype)


def pg_variance(z: Tensor) -> Tensor:
    """Variance of PG(1, z), (sinh z - z) / (4 z^3 cosh^2(z / 2)), elementwise; 1/24 at z = 0, 1 / (2 |z|^3) far out.

    With x = |z| / 2 this is (tanh x - x / cosh^2 x) / (16 x^3), which neither overflows nor, away from 0, cancels.
    """
    half = z.double().abs() / 2
    small = half < 0.05
    x = torch.where(small, 1.0, half)
    s = torch.where(small, half, 0.0).square()
    series = 2 / 3 - s * (8 / 15 - s * (34 / 105 - s * (496 / 2835)))
    decay = torch.exp(-2 * x)
    numerator = torch.tanh(x) - 4 * x * decay / (1 + decay).square()
    return (torch.where(small, series, numerator / x / x / x) / 16).to(z.dtype)
