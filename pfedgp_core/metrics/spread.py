"""Mean and standard error of one metric over seeds, or over clients."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pfedgp_core.errors import DataError

__all__ = ["Spread", "spread"]


class Spread(NamedTuple):
    """Mean of the values, and its standard error, None for a single value."""

    mean: float
    standard_error: float | None


def spread(values: Sequence[float]) -> Spread:
    """Return the mean, and s / sqrt(n) with s the sample standard deviation (divisor n - 1).

    Raises
    ------
    DataError
        There is no value, or one is not finite.
    """
    array = np.asarray(values, dtype=np.float64)
    if not array.size or not np.isfinite(array).all():
        raise DataError(f"{array.tolist()} has no mean: give at least one value, and finite ones only.")
    error = float(array.std(ddof=1) / math.sqrt(array.size)) if array.size > 1 else None
    return Spread(float(array.mean()), error)
