"""Lists of numbers that another machine sent, checked as a whole: one reply holds thousands of them."""

from typing import Any

import numpy as np

from pfedgp_core.checks import COUNT_LIMIT

__all__ = ["counts", "finites"]


def counts(values: Any) -> np.ndarray:
    """Integers from 0 to `COUNT_LIMIT`, int64 [N]; raises as `pfedgp_core.checks.count`, and OverflowError."""
    if not _are(int, values):
        raise TypeError("is not an integer")
    numbers = np.array(values, dtype=np.int64)
    if len(numbers) and numbers.min() < 0:
        raise ValueError("is negative")
    if len(numbers) and numbers.max() > COUNT_LIMIT:
        raise ValueError("is implausibly large")
    return numbers


def finites(values: Any) -> np.ndarray:
    """Finite numbers, float64 [N]; raises as `pfedgp_core.checks.finite`, and OverflowError."""
    if not _are((int, float), values):
        raise TypeError("is not a number")
    numbers = np.array(values, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError("is not finite")
    return numbers


def _are(kinds: type | tuple[type, ...], values: Any) -> bool:
    """Whether all values are of these kinds, and none is a truth value."""
    return all(issubclass(kind, kinds) and kind is not bool for kind in set(map(type, values)))
