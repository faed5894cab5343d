"""Predicted classes as sums that can be pooled over clients, so that no prediction leaves a client.

Confidence is the largest probability; the 15 bins of the calibration errors are (i/15, (i+1)/15] (paper, section
"Calibration", and its appendix on reliability diagrams).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from pfedgp_core.bounded_counts import even_part
from pfedgp_core.checks import MALFORMED
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.metrics.number_lists import counts, finites

__all__ = [
    "BINS",
    "CalibrationCurve",
    "MetricSums",
    "calibration_curve",
    "checked_probabilities",
    "metric_sums",
    "stacked_metric_sums",
]

BINS = 15
_SMALLEST = 1e-12  # NLL of a sample is at most -log of this
_BINNED = ("bin_count", "bin_confidence", "bin_correct")
_REAL = ("nll_sum", "brier_sum", "bin_confidence")
_WIDTHS = {"n": 1, "correct": 1, "nll_sum": 1, "brier_sum": 1} | dict.fromkeys(_BINNED, BINS)
_EDGE = 1e-6  # a float32 confidence that stands for an edge may lie this much above it


@dataclass(eq=False)
class MetricSums:
    """Sums over samples, by default over none; adding two of them gives those of the pooled samples.

    Parameters
    ----------
    n, correct : int
        Samples, and how many of them the most probable class got right.
    nll_sum, brier_sum : float
        Sum of -log p(label), clipped at p = 1e-12, and of sum over classes (p - onehot)^2.
    bin_count, bin_confidence, bin_correct : arrays [bins]
        Per confidence bin: samples, sum of confidences, correct samples.
    """

    task: ClassVar[str] = "classification"

    n: int = 0
    correct: int = 0
    nll_sum: float = 0.0
    brier_sum: float = 0.0
    bin_count: np.ndarray = field(default_factory=lambda: np.zeros(BINS, np.int64))
    bin_confidence: np.ndarray = field(default_factory=lambda: np.zeros(BINS))
    bin_correct: np.ndarray = field(default_factory=lambda: np.zeros(BINS, np.int64))

    @classmethod
    def zero(cls, bins: int = BINS) -> "MetricSums":
        """Return the sums over no sample, with any number of bins."""
        return cls(0, 0, 0.0, 0.0, np.zeros(bins, np.int64), np.zeros(bins), np.zeros(bins, np.int64))

    def __add__(self, other: "MetricSums") -> "MetricSums":
        if not isinstance(other, MetricSums):
            return NotImplemented
        if len(self.bin_count) != len(other.bin_count):
            raise DataError(
                f"Sums with {len(self.bin_count)} and {len(other.bin_count)} bins cannot be added; use equal bins."
            )
        return MetricSums(
            self.n + other.n,
            self.correct + other.correct,
            self.nll_sum + other.nll_sum,
            self.brier_sum + other.brier_sum,
            self.bin_count + other.bin_count,
            self.bin_confidence + other.bin_confidence,
            self.bin_correct + other.bin_correct,
        )

    def thinned(self, n: int) -> "MetricSums":
        """Return the sums reduced to `n` samples, taken evenly (`even_part`); themselves where they have no more."""
        if n >= self.n:
            return self
        kept = np.array(even_part([*self.bin_correct, *(self.bin_count - self.bin_correct)], n), dtype=np.int64)
        correct, wrong = np.split(kept, 2)
        means = np.divide(self.bin_confidence, self.bin_count, out=np.zeros(len(correct)), where=self.bin_count > 0)
        return MetricSums(
            n,
            int(correct.sum()),
            self.nll_sum * n / self.n,
            self.brier_sum * n / self.n,
            correct + wrong,
            means * (correct + wrong),
            correct,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MetricSums) and self.to_dict() == other.to_dict()

    def to_dict(self) -> dict[str, int | float | list[int] | list[float]]:
        """Return plain Python numbers and lists, fit for JSON and for a Flower MetricRecord."""
        return {
            "n": int(self.n),
            "correct": int(self.correct),
            "nll_sum": float(self.nll_sum),
            "brier_sum": float(self.brier_sum),
            "bin_count": [int(x) for x in self.bin_count],
            "bin_confidence": [float(x) for x in self.bin_confidence],
            "bin_correct": [int(x) for x in self.bin_correct],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "MetricSums":
        """Read what ``to_dict`` wrote, and refuse numbers that no set of predictions can have.

        Raises
        ------
        DataError
            A field is missing, of the wrong form or length, not finite, or contradicts another.
        """
        try:
            return cls.listed({name: values[name] if name in _BINNED else [values[name]] for name in _WIDTHS}, 1)[0]
        except MALFORMED as error:
            raise DataError(f"These are not metric sums ({error!r}); send what MetricSums.to_dict gives.") from None

    @classmethod
    def listed(cls, lists: Mapping[str, Any], number: int) -> tuple["MetricSums", ...]:
        """Read `number` sums from lists that each join a field of all of them.

        Raises
        ------
        LookupError, TypeError, ValueError, OverflowError
            A list is missing, of another length, or holds something else than numbers.
        DataError
            The numbers contradict each other.
        """
        arrays = {}
        for name, width in _WIDTHS.items():
            values = lists[name]
            if len(values) != width * number:
                raise ValueError(f"{name} has not {width * number} numbers")
            whole = (finites if name in _REAL else counts)(values)
            arrays[name] = whole.reshape(number, width) if name in _BINNED else whole
        n, correct, nll_sum, brier_sum, bin_count, bin_confidence, bin_correct = (arrays[name] for name in _WIDTHS)
        slack = 1e-6 * (1 + n)
        fits = (
            (bin_count.sum(axis=1) == n)
            & (bin_correct.sum(axis=1) == correct)
            & (bin_correct <= bin_count).all(axis=1)
            & (-slack[:, None] <= bin_confidence).all(axis=1)
            & (bin_confidence <= bin_count + slack[:, None]).all(axis=1)
            & (-slack <= nll_sum)
            & (nll_sum <= -np.log(_SMALLEST) * n + slack)
            & (-slack <= brier_sum)
            & (brier_sum <= 2 * n + slack)
        )
        if not fits.all():
            raise DataError(
                f"Metric sums of {n[~fits][0]} samples contradict themselves; send what MetricSums.to_dict gives."
            )
        scalars = zip(n.tolist(), correct.tolist(), nll_sum.tolist(), brier_sum.tolist(), strict=True)
        bins = zip(bin_count, bin_confidence, bin_correct, strict=True)
        return tuple(cls(*at, *binned) for at, binned in zip(scalars, bins, strict=True))


@dataclass(frozen=True)
class CalibrationCurve:
    """A reliability diagram: per bin mean confidence and accuracy (None where the bin is empty) and sample count."""

    confidence: list[float | None]
    accuracy: list[float | None]
    count: list[int]


def metric_sums(probabilities: ArrayLike, labels: ArrayLike, bins: int = BINS) -> MetricSums:
    """Sum accuracy and calibration terms over samples.

    Parameters
    ----------
    probabilities : float [N, K]
        Rows sum to 1.
    labels : int [N]
        Column of the true class; -1 where the true class is none of the columns. Such a sample is an error with
        p(label) = 0: its NLL is -log 1e-12 and its Brier term 1 + sum p^2.
    bins : int, default 15
        Confidence bins (i/bins, (i+1)/bins]; confidence 0 goes to the first, 1 to the last.

    Returns
    -------
    MetricSums
        Computed in float64. Ties for the most probable class go to the lowest column.

    Raises
    ------
    DataError
        Shapes that do not fit, labels out of range, or rows that are no probabilities.
    ConfigError
        ``bins`` below 1.
    """
    if bins < 1:
        raise ConfigError(f"bins = {bins} is too small; give at least 1.")
    p = checked_probabilities(probabilities)
    return stacked_metric_sums(p[None], _checked_columns(labels, p), bins)[0]


def stacked_metric_sums(p: np.ndarray, y: np.ndarray, bins: int = BINS) -> list[MetricSums]:
    """Return `metric_sums` of several predictions of the same samples, which are not checked here.

    Parameters
    ----------
    p : float64 [S, N, K]
    y : int64 [N]
    bins : int, default 15
    """
    if not len(y):
        return [MetricSums.zero(bins) for _ in p]
    known = y >= 0
    confidence, correct = p.max(axis=2), p.argmax(axis=2) == y
    p_label = np.where(known, p[:, np.arange(len(y)), np.where(known, y, 0)], 0.0)
    # sum_k (p_k - onehot_k)^2 = sum_k p_k^2 - 2 p_label + 1, with p_label = 0 for a class outside the columns.
    brier = np.maximum((p * p).sum(axis=2) - 2.0 * p_label + 1.0, 0.0)
    nll = -np.log(np.maximum(p_label, _SMALLEST))
    where = np.clip(np.ceil(confidence * bins - _EDGE).astype(np.int64) - 1, 0, bins - 1)
    return [
        MetricSums(
            n=len(y),
            correct=int(correct[s].sum()),
            nll_sum=float(nll[s].sum()),
            brier_sum=float(brier[s].sum()),
            bin_count=np.bincount(where[s], minlength=bins),
            bin_confidence=np.bincount(where[s], weights=confidence[s], minlength=bins),
            bin_correct=np.bincount(where[s][correct[s]], minlength=bins),
        )
        for s in range(len(p))
    ]


def calibration_curve(sums: MetricSums) -> CalibrationCurve:
    """Return the points of the reliability diagram."""
    counts = [int(n) for n in sums.bin_count]
    return CalibrationCurve(
        [float(s / n) if n else None for s, n in zip(sums.bin_confidence, counts, strict=True)],
        [float(s / n) if n else None for s, n in zip(sums.bin_correct, counts, strict=True)],
        counts,
    )


def checked_probabilities(probabilities: ArrayLike) -> np.ndarray:
    """Return float64 [N, K] with entries in [0, 1].

    Raises
    ------
    DataError
        A shape or rows that no probabilities have.
    """
    p = np.asarray(probabilities, dtype=np.float64)
    if p.ndim != 2 or (len(p) and not p.shape[1]):
        raise DataError(f"Probabilities have shape {list(p.shape)}; give [samples, classes] with at least one class.")
    # The negation also catches NaN.
    bad = ~((p >= -_EDGE).all(axis=1) & (np.abs(p.sum(axis=1) - 1.0) <= 1e-3))
    if bad.any():
        raise DataError(
            f"Row {bad.argmax()} holds {p[bad.argmax()][:5]}..., no probabilities that sum to 1; normalise it."
        )
    return np.clip(p, 0.0, 1.0)


def _checked_columns(labels: ArrayLike, p: np.ndarray) -> np.ndarray:
    y = np.asarray(labels)
    if y.shape != (len(p),) or (y.size and y.dtype.kind not in "iu"):
        raise DataError(f"Labels are {y.dtype} {list(y.shape)}; give one integer for each of the {len(p)} rows.")
    y = y.astype(np.int64)
    if y.size and not -1 <= y.min() <= y.max() < p.shape[1]:
        raise DataError(f"Labels run from {y.min()} to {y.max()}; give columns from 0 to {p.shape[1] - 1}, or -1.")
    return y
