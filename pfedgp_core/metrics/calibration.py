"""Results of the final evaluation beyond its metrics: calibration at every temperature, and the class confusion.

A temperature has to be chosen on validation data of the whole federation, and no prediction may leave a client. So
each client sums the bins of both splits at every temperature of the grid; sums can be added, and the server picks from
them what the pooled predictions themselves would have given.

Two rules pick: the paper's, the smallest ECE, and a prudent one for the temperature that goes with the model.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pfedgp_core.bounded_counts import bounded_counts, even_part
from pfedgp_core.checks import MALFORMED, count
from pfedgp_core.errors import DataError
from pfedgp_core.metrics.classification import MetricSums, metric_sums
from pfedgp_core.metrics.ece import expected_calibration_error
from pfedgp_core.metrics.temperature import TEMPERATURE_GRID, temperature_scale

__all__ = [
    "TEMPERATURE_LIMITS",
    "CalibrationSums",
    "confusion_counts",
    "is_temperature",
    "lowest_ece",
    "prudent_temperature",
    "temperature_sums",
]

Confusion = tuple[tuple[int, int, int], ...]
_SPLITS = ("validation", "test")
TEMPERATURE_LIMITS = (0.01, 10_000.0)  # ten times beyond both ends of the grid
_FEWEST = 10  # of fewer samples a single one moves the accuracy by more than ten points
_ONE = TEMPERATURE_GRID.index(1.0)
_SEVERAL = 3  # clients; of two nobody knows which one is right


@dataclass(frozen=True)
class CalibrationSums:
    """Sums of one client, or of many: adding two of them gives those of the pooled samples.

    Attributes
    ----------
    validation, test : tuple of MetricSums
        One for each temperature of ``TEMPERATURE_GRID``, in its order.
    confusion : tuple of (true class, predicted class, count)
        Of the test data, by the federation's class ids; only pairs that occurred, sorted.
    """

    validation: tuple[MetricSums, ...]
    test: tuple[MetricSums, ...]
    confusion: Confusion = ()

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
            for sums in getattr(self, split):
                for name, value in sums.to_dict().items():
                    fields.setdefault(f"{split}.{name}", []).extend(value if isinstance(value, list) else [value])
        for column, name in enumerate(("true", "predicted", "count")):
            fields[f"confusion.{name}"] = [row[column] for row in self.confusion]
        return fields

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "CalibrationSums":
        """Read what ``to_dict`` wrote, and refuse numbers that no set of predictions can have.

        Raises
        ------
        DataError
            A field is missing, of the wrong length, or contradicts another.
        """
        try:
            validation, test = (_split(fields, split) for split in _SPLITS)
            columns = [[count(x) for x in fields[f"confusion.{name}"]] for name in ("true", "predicted", "count")]
            confusion = tuple(zip(*columns, strict=True))
        except MALFORMED as error:
            raise DataError(f"These are not calibration sums ({type(error).__name__}).") from None
        pairs = [row[:2] for row in confusion]
        if pairs != sorted(set(pairs)) or any(n < 1 for _, _, n in confusion):
            raise DataError("The confusion counts hold a pair twice, unsorted, or a number below its range.")
        if any(sums.n != split[0].n for split in (validation, test) for sums in split):
            raise DataError("The calibration sums cover different samples at different temperatures.")
        if sum(n for _, _, n in confusion) != test[0].n:
            raise DataError("The confusion counts and the calibration sums cover different test samples.")
        return cls(validation, test, confusion)

    def fits(self, n_test: int, n_validation: int, n_classes: int) -> bool:
        """Whether these can be the sums of a client with `n_test` tested and at most `n_validation` other samples."""
        in_range = all(true < n_classes and predicted < n_classes for true, predicted, _ in self.confusion)
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


def prudent_temperature(clients: Sequence[Sequence[MetricSums]]) -> float | None:
    """Return the temperature that is to go with the model; None without a sample.

    Where all of few samples are right, the smallest ECE is at the sharpest temperature, and the first mistake at a new
    site costs more NLL than all right answers gain. So this rule takes the smallest ECE, of equals the nearest to 1,
    only of the temperatures from 1 to the first of the grid whose mean confidence is at most the accuracy by the rule
    of succession, (correct + 1) / (n + 2). That one is below 1 for a classifier that is too cautious; the rule then
    never goes beyond it. It is above 1 for one that is too sure of itself, and the grid's last where no confidence is
    so low; temperatures before it stay allowed, because the next step of the coarse grid may be the larger error.

    A client counts with at most as many samples as the median one (`bounded_counts`). With three clients or more the
    rule is also applied without each of them. Of all results the one nearest to 1 (1 itself where some are above and
    some below it) and a step of the grid beyond it is as far as the temperature may go: so no client moves it by more
    than that step further from 1 than the others do without it.

    Samples whose confidence no temperature changes, as at a site with a single class, say nothing about it and are left
    out. With fewer than ten others the posterior stays as it is, at temperature 1.

    Parameters
    ----------
    clients : sequence of sequences of MetricSums
        Of each client's validation data, one for each temperature of ``TEMPERATURE_GRID``.
    """
    clients = [sums for sums in clients if sums[0].n]
    if not clients:
        return None
    parts, counts = np.array(list(map(_informative, clients))), [sums[0].n for sums in clients]
    weights = [bounded_counts(counts, multiple=1)]
    if len(clients) >= _SEVERAL:
        others = ([*counts[:i], 0, *counts[i + 1 :]] for i in range(len(counts)))
        weights += [bounded_counts(each, multiple=1) for each in others]
    steps = [_prudent(*total) - _ONE for total in np.tensordot(np.array(weights) / counts, parts, axes=1)]
    nearest = 0 if min(steps) < 0 < max(steps) else min(steps, key=abs)
    return TEMPERATURE_GRID[_ONE + min(max(steps[0], nearest - 1), nearest + 1)]


def _prudent(count: np.ndarray, right: np.ndarray, confidence: np.ndarray) -> int:
    """The rule's place in the grid, for samples, correct ones and confidences [temperatures, bins] of all clients."""
    n, one = float(count[0].sum()), _ONE
    if n < _FEWEST:
        return one
    at_most = (right[one].sum() + 1) / (n + 2)
    low_enough = np.flatnonzero(confidence.sum(axis=1) / n <= at_most)
    end = int(low_enough[0]) if len(low_enough) else len(TEMPERATURE_GRID) - 1
    outwards = 1 if end >= one else -1
    errors = np.abs(right - confidence).sum(axis=1)
    return min(range(one, end + outwards, outwards), key=errors.__getitem__)


def _informative(sums: Sequence[MetricSums]) -> np.ndarray:
    """Samples, correct ones and confidences [3, temperatures, bins] of a client, without those that never change."""
    parts = np.array([[at.bin_count, at.bin_correct, at.bin_confidence] for at in sums], dtype=float)
    # At the flattest temperature only a confidence that is 1 at all temperatures is still in the last bin.
    parts[:, :, -1] -= parts[-1, :, -1].copy()
    return parts.transpose(1, 0, 2)


def is_temperature(value: object) -> bool:
    """Whether `value` can be the temperature of a model: a number within ``TEMPERATURE_LIMITS``."""
    low, high = TEMPERATURE_LIMITS
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def _sorted(counts: Mapping[tuple[int, int], int]) -> Confusion:
    return tuple((true, predicted, n) for (true, predicted), n in sorted(counts.items()))


def _split(fields: Mapping[str, Any], split: str) -> tuple[MetricSums, ...]:
    """Cut the lists of one split into a MetricSums for each temperature."""
    template = MetricSums.zero().to_dict()
    at: list[dict[str, Any]] = [{} for _ in TEMPERATURE_GRID]
    for name, form in template.items():
        width = len(form) if isinstance(form, list) else 1
        values = list(fields[f"{split}.{name}"])
        if len(values) != width * len(TEMPERATURE_GRID):
            raise ValueError(name)
        for i, values_at in enumerate(at):
            part = values[i * width : (i + 1) * width]
            values_at[name] = part if isinstance(form, list) else part[0]
    return tuple(MetricSums.from_dict(values) for values in at)
