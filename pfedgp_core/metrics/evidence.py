"""What a client sends beside the calibration sums, so that the server can choose the model's temperature."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pfedgp_core.errors import DataError
from pfedgp_core.metrics.classification import MetricSums, stacked_metric_sums
from pfedgp_core.metrics.likelihood import LIKELIHOOD_GRID, LikelihoodSums
from pfedgp_core.metrics.sum_lists import from_lists, to_lists

__all__ = ["TemperatureEvidence", "tempered_sums"]

_SIZE = len(LIKELIHOOD_GRID)
_AT_ONCE = 1 << 20  # values


@dataclass(frozen=True)
class TemperatureEvidence:
    """Of one client's personal classifier.

    Attributes
    ----------
    validation : LikelihoodSums
        Of its validation data.
    left_out : LikelihoodSums
        Of its training data, each sample predicted from all others. They say something of new samples where the shared
        network was not trained on these; a client sends them where it is asked for them.
    test : tuple of MetricSums
        Of its test data, at every temperature of ``LIKELIHOOD_GRID``.
    """

    validation: LikelihoodSums = field(default_factory=LikelihoodSums)
    left_out: LikelihoodSums = field(default_factory=LikelihoodSums)
    test: tuple[MetricSums, ...] = field(default_factory=lambda: (MetricSums.zero(),) * _SIZE)

    def to_dict(self) -> dict[str, Any]:
        """Return numbers and flat lists of numbers."""
        fields: dict[str, Any] = to_lists("test", self.test)
        for name in ("validation", "left_out"):
            fields |= {f"{name}.{key}": value for key, value in getattr(self, name).to_dict().items()}
        return fields

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "TemperatureEvidence":
        """Read what ``to_dict`` wrote, and refuse numbers that no set of predictions can have.

        Raises
        ------
        DataError
            A field is missing, of the wrong length, or contradicts another.
        """
        validation, left_out = (
            LikelihoodSums.from_dict({key: fields.get(f"{name}.{key}") for key in ("n", "values")})
            for name in ("validation", "left_out")
        )
        test = from_lists("test", fields, _SIZE)
        if any(sums.n != test[0].n for sums in test):
            raise DataError("The sums at the model's temperatures cover different samples.")
        return cls(validation, left_out, test)

    def fits(self, n_test: int, n_validation: int, n_train: int) -> bool:
        """Whether these can be of a client with `n_test` tested and at most so many other samples."""
        return self.test[0].n == n_test and self.validation.n <= n_validation and self.left_out.n <= n_train


def tempered_sums(probabilities: np.ndarray, columns: np.ndarray) -> tuple[MetricSums, ...]:
    """Return the metric sums at every temperature of the grid.

    Parameters
    ----------
    probabilities : float64 [N, K]
        Rows that sum to 1.
    columns : int64 [N]
        As in ``classification.metric_sums``.
    """
    with np.errstate(divide="ignore"):
        logs = np.log(probabilities)
    logs = logs - logs.max(axis=1, keepdims=True) if logs.size else logs
    found: list[MetricSums] = []
    block = max(1, _AT_ONCE // max(1, logs.size))
    for first in range(0, _SIZE, block):
        temperatures = np.array(LIKELIHOOD_GRID[first : first + block])
        powers = np.exp(logs / temperatures[:, None, None])
        found += stacked_metric_sums(powers / powers.sum(axis=2, keepdims=True), columns)
    return tuple(found)
