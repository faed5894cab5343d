"""Errors and calibration of predicted targets, as sums that can be pooled over clients.

Errors, densities and R^2 are in the units of the targets. Two sums judge the model itself: the error in units of each
client's own deviation, in which clients of different spread count alike, and the error of each client's training mean,
which any model has to beat.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from pfedgp_core.checks import MALFORMED, count, within
from pfedgp_core.errors import DataError

__all__ = ["LEVELS", "RegressionSums", "coverage_curve", "regression_sums", "target_spread"]

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Nominal levels of the central intervals whose coverage is counted; the last is the one that tables show."""
SUM_LIMIT = 1e40
"""Of the size of each sum, as the wire takes it: beyond all real targets, and squares of pooled sums are finite."""


@dataclass(eq=False)
class RegressionSums:
    """Sums over samples, by default over none; adding two of them gives those of the pooled samples.

    Parameters
    ----------
    n : int
        Samples.
    squared_error, absolute_error : float
        Sum of (y - mean)^2, and of the distance between y and mean.
    nll_sum : float
        Sum of minus the log density of y.
    target_sum, target_square : float
        Sum of y and of y^2, for R^2.
    standard_square : float
        Sum of (y - mean)^2 / s^2, with the standard deviation s of the client's training targets.
    baseline_square : float
        Sum of (y - m)^2, with the mean m of the client's training targets.
    covered : int array [levels]
        Samples inside the central interval of each of `LEVELS`.
    """

    task: ClassVar[str] = "regression"

    n: int = 0
    squared_error: float = 0.0
    absolute_error: float = 0.0
    nll_sum: float = 0.0
    target_sum: float = 0.0
    target_square: float = 0.0
    standard_square: float = 0.0
    baseline_square: float = 0.0
    covered: np.ndarray = field(default_factory=lambda: np.zeros(len(LEVELS), np.int64))

    @classmethod
    def zero(cls) -> "RegressionSums":
        """Return the sums over no sample."""
        return cls()

    def __add__(self, other: "RegressionSums") -> "RegressionSums":
        if not isinstance(other, RegressionSums):
            return NotImplemented
        return RegressionSums(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def thinned(self, n: int) -> "RegressionSums":
        """Return the sums reduced to `n` samples, taken evenly; themselves where they have no more."""
        if n >= self.n:
            return self
        floats = {f.name: getattr(self, f.name) * n / self.n for f in fields(self) if f.type is float}
        # Python's integers: a product of two counts is beyond 64 bits.
        covered = [(int(inside) * n + self.n // 2) // self.n for inside in self.covered]
        return RegressionSums(n=n, **floats, covered=np.array(covered, dtype=np.int64))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RegressionSums) and self.to_dict() == other.to_dict()

    def to_dict(self) -> dict[str, int | float | list[int]]:
        """Return plain Python numbers and lists, fit for JSON and for a Flower MetricRecord."""
        floats = {f.name: float(getattr(self, f.name)) for f in fields(self) if f.type is float}
        return {"n": int(self.n), **floats, "covered": [int(x) for x in self.covered]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "RegressionSums":
        """Read what ``to_dict`` wrote, and refuse numbers that no set of predictions can have.

        Raises
        ------
        DataError
            A field is missing, of the wrong form, not finite, implausibly large, or contradicts another.
        """
        try:
            floats = {f.name: within(values[f.name], SUM_LIMIT) for f in fields(cls) if f.type is float}
            covered = np.array([count(x) for x in values["covered"]], dtype=np.int64)
            sums = cls(n=count(values["n"]), **floats, covered=covered)
        except MALFORMED as error:
            raise DataError(
                f"These are not regression sums ({error!r}); send what RegressionSums.to_dict gives."
            ) from None
        if not sums._consistent():
            raise DataError(
                f"Regression sums of {sums.n} samples contradict themselves; send what RegressionSums.to_dict gives."
            )
        return sums

    def _consistent(self) -> bool:
        if self.covered.shape != (len(LEVELS),):
            return False
        squares = np.array([self.squared_error, self.target_square, self.standard_square, self.baseline_square])
        first = np.array([self.absolute_error, self.target_sum])
        return bool(
            (squares >= 0).all()
            and self.absolute_error >= 0
            # Cauchy-Schwarz, which also leaves nothing but zeros where n = 0.
            and (first**2 <= self.n * squares[:2] * (1 + 1e-9)).all()
            and (self.n > 0 or not (squares.any() or self.nll_sum))
            and (np.diff(self.covered, prepend=0, append=self.n) >= 0).all()
        )


def regression_sums(
    mean: ArrayLike,
    deviation: ArrayLike,
    targets: ArrayLike,
    baseline: float,
    scale: float,
    freedom: float = math.inf,
) -> RegressionSums:
    """Sum errors, densities and coverage over samples.

    Parameters
    ----------
    mean, deviation : float [N]
        Of the predictive law of each target: the normal one's, or mean and scale of Student's; deviations are positive.
    targets : float [N]
    baseline, scale : float
        Mean and standard deviation of the client's training targets.
    freedom : float
        Degrees of freedom of the predictive law; infinite for the normal one.

    Returns
    -------
    RegressionSums
        Computed in float64.

    Raises
    ------
    DataError
        Lengths that differ, numbers that are not finite, or a deviation or scale that is not positive.
    """
    mu, s, y = (np.asarray(x, dtype=np.float64) for x in (mean, deviation, targets))
    if not mu.shape == s.shape == y.shape or mu.ndim != 1:
        raise DataError(f"Means {mu.shape}, deviations {s.shape} and targets {y.shape} differ; give one a sample.")
    if not np.isfinite([mu, s, y]).all() or not (s > 0).all() or not scale > 0:
        raise DataError("Predictions and targets must be finite, with positive deviations; check the model's inputs.")
    error = y - mu
    return RegressionSums(
        n=len(y),
        squared_error=float(np.square(error).sum()),
        absolute_error=float(np.abs(error).sum()),
        nll_sum=float(_minus_log_density(error / s, s, freedom).sum()),
        target_sum=float(y.sum()),
        target_square=float(np.square(y).sum()),
        standard_square=float(np.square(error / scale).sum()),
        baseline_square=float(np.square(y - baseline).sum()),
        covered=(np.abs(error) <= np.outer(_half_widths(freedom), s)).sum(axis=1),
    )


def _minus_log_density(z: np.ndarray, scale: np.ndarray, freedom: float) -> np.ndarray:
    """Of targets at z scales from the mean."""
    if math.isinf(freedom):
        normal: np.ndarray = 0.5 * np.square(z) + np.log(scale) + 0.5 * np.log(2 * np.pi)
        return normal
    constant = math.lgamma(freedom / 2) - math.lgamma((freedom + 1) / 2) + 0.5 * math.log(freedom * math.pi)
    density: np.ndarray = constant + np.log(scale) + (freedom + 1) / 2 * np.log1p(np.square(z) / freedom)
    return density


@cache
def _half_widths(freedom: float) -> np.ndarray:
    """Of the central interval of each of `LEVELS`, in scales."""
    if math.isinf(freedom):
        return np.array([NormalDist().inv_cdf(0.5 + 0.5 * level) for level in LEVELS])
    from scipy.special import stdtrit

    widths: np.ndarray = stdtrit(freedom, 0.5 + 0.5 * np.array(LEVELS))
    return widths


def target_spread(sums: RegressionSums) -> float | None:
    """Return sum (y - mean of all y)^2, which R^2 divides by; None where the targets do not differ."""
    spread = sums.target_square - sums.target_sum**2 / sums.n
    # Below 1e-200 too: a ratio to it may be more than a float holds.
    return spread if sums.n > 1 and spread > max(1e-12 * sums.target_square, 1e-200) else None


def coverage_curve(sums: RegressionSums) -> list[tuple[float, float]]:
    """Return (nominal level, share of samples inside) for every one of `LEVELS`; empty where n is 0."""
    return [(level, int(c) / sums.n) for level, c in zip(LEVELS, sums.covered, strict=True)] if sums.n else []
