"""The mean of the nearest: an average for clients whose honest updates differ much (Allouah et al. 2023).

With n vectors v_1 ... v_n, of which f may be wrong::

    y_i    = mean of the n - f vectors that are nearest to v_i, itself among them
    result = mean of y_1 ... y_n in each coordinate, without the f smallest and the f largest values there

A median of v itself takes what few clients know, such as a class that one of them has, for an error. The y_i of right
vectors hold about the share of it that a plain mean has, and are close to each other, so that little is left to trim.
A wrong vector counts in a y_i only where it is nearer to v_i than f right ones are.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from pfedgp_core.learning.vector_store import block_of

__all__ = ["nearest_mean"]

BLOCK = 4_000_000  # values of all vectors together that are in memory at a time


def nearest_mean(vectors: Sequence[np.ndarray], wrong: int) -> np.ndarray:
    """Return the trimmed mean of the means of each vector's nearest.

    Parameters
    ----------
    vectors : sequence of finite float arrays [P]
        More than 2 * `wrong`. Between vectors at equal distance the first is nearer.
    wrong : int
        How many may be wrong; f above.

    Returns
    -------
    numpy.ndarray, float64 [P]
    """
    count = len(vectors)
    if not 0 <= 2 * wrong < count:
        raise ValueError(f"wrong = {wrong} leaves nothing of {count} vectors")
    nearest = np.argsort(_squared_distances(vectors), axis=1, kind="stable")[:, : count - wrong]
    nearest.sort(axis=1)  # so that equal sets have equal sums
    result = np.empty(len(vectors[0]))
    for part, block in _blocks(vectors):
        means = np.stack([block[rows].mean(axis=0) for rows in nearest])
        means.sort(axis=0)
        result[part] = means[wrong : count - wrong].mean(axis=0)
    return result


def _squared_distances(vectors: Sequence[np.ndarray]) -> np.ndarray:
    """Squared distances of all pairs, float64 [n, n]."""
    squared = np.zeros((len(vectors), len(vectors)))
    for _, block in _blocks(vectors):
        for i in range(len(block) - 1):
            differences = block[i + 1 :] - block[i]
            squared[i, i + 1 :] += np.square(differences, out=differences).sum(axis=1)
    return squared + squared.T


def _blocks(vectors: Sequence[np.ndarray]) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield coordinates and their values, float64 [n, coordinates], a bounded number at a time."""
    size, step = len(vectors[0]), max(1, BLOCK // len(vectors))
    for start in range(0, size, step):
        part = slice(start, min(size, start + step))
        yield part, block_of(vectors, part).astype(np.float64)
