"""Averages that a few wrong vectors cannot move far: median and trimmed mean of each coordinate.

Both bound each coordinate by itself: while fewer than half of the vectors are wrong (median), or at most as many as are
left out at each end (trimmed mean), every coordinate of the result lies between the smallest and the largest value
that the right vectors have there. They do not find the wrong ones, and a wrong vector within that range counts.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from pfedgp_core.learning.vector_store import block_of

__all__ = ["median", "trim_count", "trimmed_mean"]

BLOCK = 4_000_000  # values of all vectors together that are sorted at a time


def trim_count(share: float, n: int) -> int:
    """Return how many of `n` values a trimmed mean leaves out at each end: floor(share * n)."""
    # A share such as 0.29 is a little less than it says, which must not cost one of 100 values.
    return math.floor(share * n + 1e-9)


def median(vectors: Sequence[np.ndarray]) -> np.ndarray:
    """Return the median of each coordinate; of an even number, the mean of the two in the middle.

    Parameters
    ----------
    vectors : sequence of finite float arrays [P]
        At least one.

    Returns
    -------
    numpy.ndarray, float64 [P]
        The same in every order of `vectors`.
    """
    return _middle(vectors, (len(vectors) - 1) // 2)


def trimmed_mean(vectors: Sequence[np.ndarray], trim: int) -> np.ndarray:
    """Return the mean of each coordinate without its `trim` smallest and `trim` largest values.

    Parameters
    ----------
    vectors : sequence of finite float arrays [P]
        More than 2 * `trim`.
    trim : int

    Returns
    -------
    numpy.ndarray, float64 [P]
        The same in every order of `vectors`.
    """
    if not 0 <= 2 * trim < len(vectors):
        raise ValueError(f"trim = {trim} leaves nothing of {len(vectors)} vectors")
    return _middle(vectors, trim)


def _middle(vectors: Sequence[np.ndarray], trim: int) -> np.ndarray:
    result = np.empty(len(vectors[0]))
    for part, block in _sorted_blocks(vectors):
        kept = block[trim : len(block) - trim]
        # Rounding of the sum must not push a mean out of the range of its own terms; 0.0 makes one zero of -0 and 0.
        result[part] = np.clip(kept.mean(axis=0, dtype=np.float64), kept[0], kept[-1]) + 0.0
    return result


def _sorted_blocks(vectors: Sequence[np.ndarray]) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield coordinates and their values [n, coordinates] in ascending order, a bounded number at a time."""
    size, step = len(vectors[0]), max(1, BLOCK // len(vectors))
    for start in range(0, size, step):
        part = slice(start, min(size, start + step))
        block = block_of(vectors, part)
        block.sort(axis=0)
        yield part, block
