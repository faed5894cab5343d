r"""PG(1, z) from a table of its quantiles, exact by rejection: many at a time, faster than a sampler one by one.

With the normal score g of a variable, y = log omega is a smooth function of (g, z). The table holds y on a grid;
between its points y is bilinear, and the density of what that gives is known,

.. math::
    \tilde p(y) = \phi(g) \Big/ \frac{\partial y}{\partial g}, \qquad
    |p(y \mid z) / \tilde p(y) - 1| \le \delta \text{ on the whole grid.}

So a draw is accepted with probability p / (1 + delta) p~, which a uniform number below (1 - delta) / (1 + delta) says
without p. For the others, six in a thousand, p is computed; a refused draw is replaced by one of ``polyagamma``.
The table decides how many these are, never the law.
"""

import math
from functools import cache

import numpy as np
from polyagamma import random_polyagamma

__all__ = [
    "DELTA",
    "LARGEST_SCORE",
    "LARGEST_TILT",
    "density_ratio",
    "log_density",
    "proposal",
    "quantiles",
    "sample_by_quantiles",
]

LARGEST_TILT = 20.0
LARGEST_SCORE = 4.5  # beyond it, once in 150,000 draws, the quantile is computed
DELTA = 0.003
TILTS, SCORES = 256, 1024  # cells of the grid
_WIDTH = SCORES + 1
_SURE = (1 - DELTA) / (1 + DELTA)
_LOG_OMEGA = np.linspace(math.log(2e-3), math.log(6.0), 4096)  # holds all but 1e-10 of every PG(1, z), z <= 20
_BLOCK = 4096  # draws at a time, whose intermediate values a core's cache holds
_CORNERS = np.array([0, _WIDTH, 1, _WIDTH + 1])[:, None]  # of a cell: low scores at both tilts, then high ones
_CROSSING = 0.16  # omega at which the two series of the density meet
_ORDERS = np.arange(4)


def log_density(y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Log density of y = log omega, omega ~ PG(1, z), |z| <= ``LARGEST_TILT``; float64 [n] each, or one z."""
    density: np.ndarray = _untilted(y) + _tilt(np.exp(y), z)
    return density


def _untilted(y: np.ndarray) -> np.ndarray:
    """The same for z = 0: the alternating series of Devroye."""
    omega = np.exp(y)
    small, x = omega < _CROSSING, 4 * omega
    rate = np.where(small, -2 / x, -0.5 * math.pi**2 * x)  # of exp(rate (k + 1/2)^2)
    series = np.exp(rate[:, None] * (_ORDERS**2 + _ORDERS)) @ ((-1.0) ** _ORDERS * (_ORDERS + 0.5))
    density: np.ndarray = np.log(series) + rate / 4 + np.where(small, 1.5 * np.log(2 / math.pi / x), 0.0)
    density += y + math.log(4 * math.pi)
    return density


def _tilt(omega: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Log of cosh(z / 2) exp(-z^2 omega / 2)."""
    tilt: np.ndarray = np.log(np.cosh(z / 2)) - 0.5 * z * z * omega
    return tilt


@cache
def _untilted_on_grid() -> np.ndarray:
    return _untilted(_LOG_OMEGA)


def quantiles(z: float, g: np.ndarray) -> np.ndarray:
    """y = log omega of one tilt at normal scores, float64 [n] each, by summing the density."""
    from scipy.special import log_ndtr  # a tenth of a second, which only a process that samples need wait for

    mass = np.exp(_untilted_on_grid() - z**2 / 2 * np.exp(_LOG_OMEGA))
    mass /= mass.sum()
    half = mass / 2  # the trapezoidal rule
    below, above = (np.maximum(part - half, 1e-300) for part in (mass.cumsum(), mass[::-1].cumsum()[::-1]))
    # Logarithms on the side of each tail, where they are nearly linear in y.
    low = np.interp(log_ndtr(g), np.log(below), _LOG_OMEGA)
    high = np.interp(-log_ndtr(-g), -np.log(above), _LOG_OMEGA)
    y: np.ndarray = np.where(g < 0, low, high)
    return y


@cache
def _table() -> np.ndarray:
    """Quantiles, float32 [(TILTS + 1) (SCORES + 1)], one tilt after the other."""
    scores = np.linspace(-LARGEST_SCORE, LARGEST_SCORE, _WIDTH)
    tilts = np.linspace(0, LARGEST_TILT, TILTS + 1)
    return np.concatenate([quantiles(z, scores).astype(np.float32) for z in tilts])


def proposal(z: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What the table says of tilts and normal scores.

    Parameters
    ----------
    z, g : ndarray [n] of float32
        |z| up to ``LARGEST_TILT``, |g| up to ``LARGEST_SCORE``; what is larger gives numbers without meaning.

    Returns
    -------
    y : ndarray [n]
        log omega.
    rise : ndarray [2, n]
        Its rise over a cell's scores, at the cell's low and at its high tilt.
    share : ndarray [n]
        Of the high tilt.
    """
    tilt = np.abs(z) * np.float32(TILTS / LARGEST_TILT)
    score = (g + np.float32(LARGEST_SCORE)) * np.float32(SCORES / (2 * LARGEST_SCORE))
    row = np.floor(np.minimum(tilt, TILTS - 1))
    column = np.floor(np.minimum(np.maximum(score, 0), SCORES - 1))
    tilt -= row
    score -= column
    corners = _table().take((row * _WIDTH + column).astype(np.intp) + _CORNERS)
    rise = corners[2:] - corners[:2]
    ends = rise * score
    ends += corners[:2]
    return ends[0] + tilt * (ends[1] - ends[0]), rise, tilt


def sample_by_quantiles(z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw PG(1, z) elementwise.

    Parameters
    ----------
    z : ndarray [n] of float32
        |z| up to ``LARGEST_TILT``.
    rng : numpy Generator
        Advances.

    Returns
    -------
    ndarray [n] of float32
    """
    if len(z) <= _BLOCK:
        return _sample_block(z, rng)
    return np.concatenate([_sample_block(z[i : i + _BLOCK], rng) for i in range(0, len(z), _BLOCK)])


def _sample_block(z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    g, uniform = rng.standard_normal(len(z), np.float32), rng.random(len(z), np.float32)
    y, rise, share = proposal(z, g)
    omega: np.ndarray = np.exp(y)
    doubtful = ((uniform > _SURE) | (np.abs(g) > LARGEST_SCORE)).nonzero()[0]
    if len(doubtful):
        tilts, scores = z[doubtful].astype(np.float64), g[doubtful]
        ratio = density_ratio(tilts, scores, y[doubtful], rise[:, doubtful], share[doubtful])
        for i in (np.abs(scores) > LARGEST_SCORE).nonzero()[0]:
            ratio[i] = 1.0
            omega[doubtful[i]] = np.exp(quantiles(tilts[i], scores[i].astype(np.float64)))
        refused = uniform[doubtful] * (1 + DELTA) > ratio
        if refused.any():
            omega[doubtful[refused]] = random_polyagamma(1, tilts[refused], random_state=rng, disable_checks=True)
    return omega


def density_ratio(z: np.ndarray, g: np.ndarray, y: np.ndarray, rise: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Density of y = log omega over that of the table's y, float64 [n]; the arguments are those of `proposal`."""
    low, high = rise.astype(np.float64)
    slope = (low + share * (high - low)) * (SCORES / (2 * LARGEST_SCORE))
    log_table = -0.5 * np.square(g, dtype=np.float64) - 0.5 * math.log(2 * math.pi) - np.log(slope)
    y = y.astype(np.float64)
    untilted = np.interp(y, _LOG_OMEGA, _untilted_on_grid())  # to 3e-5, and six draws in a thousand need it
    ratio: np.ndarray = np.exp(untilted + _tilt(np.exp(y), z) - log_table)
    return ratio
