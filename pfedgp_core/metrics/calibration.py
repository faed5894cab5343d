"""Results of the final evaluation beyond its metrics: calibration at every temperature, and the class confusion.

A temperature has to be chosen on validation data of the whole federation, and no prediction may leave a client. So
each client sums the bins of both splits at every temperature of the grid; sums can be added, and the server picks from
them what the pooled predictions themselves would have given.

The paper's rule picks the smallest ECE. The temperature that goes with the model is chosen in `model_temperature`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pfedgp_core.bounded_counts import even_part
from pfedgp_core.checks import MALFORMED, count
from pfedgp_core.errors import DataError
from pfedgp_core.metrics.class_scores import ScoreCounts
from pfedgp_core.metrics.classification import MetricSums, metric_sums
from pfedgp_core.metrics.ece import expected_calibration_error
from pfedgp_core.metrics.sum_lists import from_lists, to_lists
from pfedgp_core.metrics.temperature import TEMPERATURE_GRID, temperature_scale

__all__ = [
    "TEMPERATURE_LIMITS",
    "CalibrationSums",
    "confusion_counts",
    "is_temperature",
    "lowest_ece",
    "temperature_sums",
]

Confusion = tuple[tuple[int, int, int], ...]
_SPLITS = ("validation", "test")
_SCORES = "scores."
TEMPERATURE_LIMITS = (0.01, 10_000.0)  # ten times beyond both ends of the grid


@dataclass(frozen=True)
class CalibrationSums:
    """Sums of one client, or of many: adding two of them gives those of the pooled samples.

    Attributes
    ----------
    validation, test : tuple of MetricSums
        One for each temperature of ``TEMPERATURE_GRID``, in its order.
    confusion : tuple of (true class, predicted class, count)
        Of the test data, by the federation's class ids; only pairs that occurred, sorted.
    scores : ScoreCounts
        Of the test data of one client; sums of many have none, because each is of classes of its own.
    """

    validation: tuple[MetricSums, ...]
    test: tuple[MetricSums, ...]
    confusion: Confusion = ()
    scores: ScoreCounts = field(default_factory=ScoreCounts)

    @classmethod
    def zero(cls) -> "CalibrationSums":
        """Return the sums over no sample."""
        none = tuple(MetricSums.zero() for _ in TEMPERATURE_GRID)
        return cls(none, none)

    def __add__(self, other: "CalibrationSums") -> "CalibrationSums":
        counts = Counter({(true, predicted): n for true, predicted, n in self.confusion})
        counts.update({(true, predicted): n for true, predicted, n in other.confusion})
        return CalibrationSums(
            tuple(a + b for a, b in zip(self.validation, other.validation, strict=True)),
            tuple(a + b for a, b in zip(self.test, other.test, strict=True)),
            _sorted(counts),
        )

    def thinned(self, validation: int, test: int) -> "CalibrationSums":
        """Return the sums reduced to so many samples of each split, taken evenly."""
        kept = self.confusion
        if test < self.test[0].n:
            counts = even_part([n for _, _, n in kept], test)
            kept = tuple((true, predicted, n) for (true, predicted, _), n in zip(kept, counts, strict=True) if n)
        return CalibrationSums(
            tuple(at.thinned(validation) for at in self.validation), tuple(at.thinned(test) for at in self.test), kept
        )

    def to_dict(self) -> dict[str, list[int] | list[float]]:
        """Return flat lists of numbers, fit for a Flower MetricRecord; each joins a field at all temperatures."""
        fields: dict[str, list[Any]] = {}
        for split in _SPLITS:
            fields |= to_lists(split, getattr(self, split))
        for column, name in enumerate(("true", "predicted", "count")):
            fields[f"confusion.{name}"] = [row[column] for row in self.confusion]
        return fields | {f"{_SCORES}{name}": values for name, values in self.scores.to_dict().items()}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "CalibrationSums":
        """Read what ``to_dict`` wrote, and refuse numbers that no set of predictions can have.

        Raises
        ------
        DataError
            A field is missing, of the wrong length, or contradicts another.
        """
        try:
            validation, test = (from_lists(split, fields, len(TEMPERATURE_GRID)) for split in _SPLITS)
            columns = [[count(x) for x in fields[f"confusion.{name}"]] for name in ("true", "predicted", "count")]
            confusion = tuple(zip(*columns, strict=True))
        except MALFORMED as error:
            raise DataError(f"These are not calibration sums ({type(error).__name__}).") from None
        scores = ScoreCounts.from_dict({k.removeprefix(_SCORES): v for k, v in fields.items() if k.startswith(_SCORES)})
        pairs = [row[:2] for row in confusion]
        if pairs != sorted(set(pairs)) or any(n < 1 for _, _, n in confusion):
            raise DataError("The confusion counts hold a pair twice, unsorted, or a number below its range.")
        if any(sums.n != split[0].n for split in (validation, test) for sums in split):
            raise DataError("The calibration sums cover different samples at different temperatures.")
        if sum(n for _, _, n in confusion) != test[0].n:
            raise DataError("The confusion counts and the calibration sums cover different test samples.")
        totals: Counter[int] = Counter()
        for true, _, n in confusion:
            totals[true] += n
        if not scores.fits(totals, test[0].n):
            raise DataError("The counts of scores and the confusion counts cover different test samples.")
        return cls(validation, test, confusion, scores)

    def fits(self, n_test: int, n_validation: int, n_classes: int) -> bool:
        """Whether these can be the sums of a client with `n_test` tested and at most `n_validation` other samples."""
        in_range = all(true < n_classes and predicted < n_classes for true, predicted, _ in self.confusion)
        in_range = in_range and all(c < n_classes for c in self.scores.classes)
        return in_range and self.test[0].n == n_test and self.validation[0].n <= n_validation


def temperature_sums(probabilities: ArrayLike, columns: ArrayLike) -> tuple[MetricSums, ...]:
    """Return the metric sums at every temperature of the grid; arguments as in ``classification.metric_sums``."""
    return tuple(metric_sums(temperature_scale(probabilities, t), columns) for t in TEMPERATURE_GRID)


def confusion_counts(labels: np.ndarray, predicted: np.ndarray) -> Confusion:
    """Count how often each true class was predicted as each class."""
    return _sorted(Counter(zip(labels.tolist(), predicted.tolist(), strict=True)))


def lowest_ece(sums: Sequence[MetricSums]) -> float | None:
    """Return the temperature with the smallest ECE, the first of equals (paper's rule); None without a sample."""
    if not sums[0].n:
        return None
    return TEMPERATURE_GRID[int(np.argmin([expected_calibration_error(at) for at in sums]))]


def is_temperature(value: object) -> bool:
    """Whether `value` can be the temperature of a model: a number within ``TEMPERATURE_LIMITS``."""
    low, high = TEMPERATURE_LIMITS
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def _sorted(counts: Mapping[tuple[int, int], int]) -> Confusion:
    return tuple((true, predicted, n) for (true, predicted), n in sorted(counts.items()))
