"""Whether certificates were wrong more often than they may be, and how a script that counts them ends."""

import sys
from collections.abc import Sequence

from scipy.stats import binom

__all__ = ["ended", "too_often"]

ALLOWED = 1e-6  # how improbable an excess of violations must be to count; there are hundreds of comparisons


def too_often(violations: int, draws: int, delta: float) -> bool:
    """Whether so many violations are more than delta and chance explain."""
    return bool(binom.sf(violations - 1, draws, delta) < ALLOWED)


def ended(excess: Sequence[str]) -> int:
    """Name what was violated too often; the exit code, 1 where there is something."""
    for text in excess:
        print(f"Too many violations: {text}", file=sys.stderr)
    return int(bool(excess))
