"""Choosing some of the samples, so that each class keeps its share."""

from collections.abc import Sequence

import numpy as np

from pfedgp_core.data.partitions.k_class import largest_remainder_counts
from pfedgp_core.numerics.streams import Stream

__all__ = ["stratified_sample", "stratified_split"]


def stratified_split(labels: np.ndarray, shares: Sequence[float], stream: Stream) -> list[np.ndarray]:
    """Draw disjoint index sets that cover all samples and hold each class in proportion to ``shares``.

    Returns
    -------
    list of numpy.ndarray, int64
        One ascending index array per share; counts per class by largest remainder.
    """
    parts: list[list[np.ndarray]] = [[np.empty(0, np.int64)] for _ in shares]
    for c in np.unique(labels):
        rows = stream.child(int(c)).numpy.permutation(np.flatnonzero(labels == c))
        ends = np.cumsum(largest_remainder_counts(shares, len(rows)))
        for part, chosen in zip(parts, np.split(rows, ends[:-1]), strict=True):
            part.append(chosen)
    return [np.sort(np.concatenate(part)).astype(np.int64) for part in parts]


def stratified_sample(labels: np.ndarray, n: int, stream: Stream) -> np.ndarray:
    """Draw `n` samples, each class in proportion to its size by largest remainder; int64 [n], ascending."""
    classes, counts = np.unique(labels, return_counts=True)
    chosen = [np.empty(0, np.int64)]
    for c, wanted in zip(classes, largest_remainder_counts(counts.tolist(), n), strict=True):
        chosen.append(stream.child(int(c)).numpy.permutation(np.flatnonzero(labels == c))[:wanted])
    return np.sort(np.concatenate(chosen)).astype(np.int64)
