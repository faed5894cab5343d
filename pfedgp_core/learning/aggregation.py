"""One vector from all vectors of a round: the mean, uniform or by sample counts, or a robust average."""

from collections.abc import Sequence

import numpy as np

from pfedgp_core.bounded_counts import bounded_counts
from pfedgp_core.config import Settings
from pfedgp_core.errors import DataError
from pfedgp_core.learning.nearest import nearest_mean
from pfedgp_core.learning.robust import median, trim_count, trimmed_mean

__all__ = ["aggregate", "average", "combine", "usual_of", "weighted_mean"]


def combine(settings: Settings, sent: np.ndarray, vectors: Sequence[np.ndarray], counts: Sequence[int]) -> np.ndarray:
    """Make the next shared vector as the setting ``aggregation`` says.

    Parameters
    ----------
    settings : Settings
    sent : float array [P]
        The vector that the clients started from.
    vectors : sequence of float arrays [P]
        What they sent back, at least one, in the order of the clients' names: the mean and the weighted mean sum in
        this order. The median and the trimmed mean are the same in every order.
    counts : sequence of int
        Training samples of the same clients, as they say; used by ``aggregation = samples`` only (`bounded_counts`).

    Returns
    -------
    numpy.ndarray, float32 [P]

    Raises
    ------
    DataError
        As `average`; also vectors that have another shape than `sent`.
    """
    return _rounded(aggregate(settings, sent, vectors, counts))


def aggregate(settings: Settings, sent: np.ndarray, vectors: Sequence[np.ndarray], counts: Sequence[int]) -> np.ndarray:
    """As `combine`, before it is rounded: float64 [P]."""
    if vectors and (shape := np.shape(vectors[0])) != np.shape(sent):  # the others are held against the first
        raise DataError(f"Vector 0 has shape {list(shape)}, {list(np.shape(sent))} was sent out.")
    if settings.aggregation == "samples":
        return weighted_mean(vectors, bounded_counts(counts))
    trim = trim_count(settings.trim_share, len(vectors))
    if not vectors or settings.aggregation == "uniform" or (settings.aggregation != "median" and not trim):
        return weighted_mean(vectors)
    for i, vector in enumerate(vectors):
        _checked(i, vector, np.shape(sent))
    if settings.aggregation == "nearest":
        return nearest_mean(vectors, trim)
    return median(vectors) if settings.aggregation == "median" else trimmed_mean(vectors, trim)


def average(vectors: Sequence[np.ndarray], weights: Sequence[float] | None = None) -> np.ndarray:
    """Return sum_i w_i theta_i / sum_i w_i; summed in float64, rounded once.

    The sum runs in the given order. Callers that want results that do not depend on which client answers first
    sort the vectors by client name.

    Parameters
    ----------
    vectors : sequence of float arrays [P]
        One vector per client; all of one shape.
    weights : sequence of float, optional
        Positive weights, for example sample counts; default: all equal (the paper's "uniform weight", appendix
        "Hyperparameter tuning").

    Returns
    -------
    numpy.ndarray, float32 [P]

    Raises
    ------
    DataError
        No vector, vectors of different shapes, a vector or weight that is not finite, a weight that is not positive,
        or an average beyond the range of float32.
    """
    return _rounded(weighted_mean(vectors, weights))


def weighted_mean(vectors: Sequence[np.ndarray], weights: Sequence[float] | np.ndarray | None = None) -> np.ndarray:
    """As `average`, before it is rounded: float64 [P]."""
    if len(vectors) == 0:
        raise DataError("There is no vector to average; wait for at least one client's update.")
    scale = _normalised(weights, len(vectors))
    shape = np.shape(vectors[0])
    total = np.zeros(shape, dtype=np.float64)
    for i, (vector, weight) in enumerate(zip(vectors, scale, strict=True)):
        total += weight * _checked(i, vector, shape).astype(np.float64)
    return total


def _checked(i: int, vector: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return vector `i` as an array; DataError where it has another shape than the first, or is not finite."""
    array = np.asarray(vector)
    if array.dtype.kind not in "fiu":
        raise DataError(f"Vector {i} holds {array.dtype}; send floating point numbers.")
    if array.shape != shape:
        raise DataError(
            f"Vector {i} has shape {list(array.shape)}, vector 0 has {list(shape)}; "
            f"all clients must train the same network."
        )
    if not np.isfinite(array).all():
        raise DataError(f"Vector {i} holds NaN or infinity; leave that client out of the average.")
    return array


def _rounded(vector: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        result = vector.astype(np.float32)
    if not np.isfinite(result).all():
        raise DataError("The average is beyond the range of float32; lower the learning rate of the clients.")
    return result


def _normalised(weights: Sequence[float] | np.ndarray | None, n: int) -> np.ndarray:
    """Return weights that sum to 1, float64 [n]."""
    if weights is None:
        return np.full(n, 1.0 / n)
    if len(weights) != n:
        raise DataError(f"There are {len(weights)} weights for {n} vectors; give one weight per vector.")
    array = np.asarray(weights, dtype=np.float64)
    bad = np.flatnonzero(~(np.isfinite(array) & (array > 0)))
    if bad.size:
        raise DataError(
            f"Weight {bad[0]} is {array[bad[0]]:g}; give positive finite weights and leave out empty clients."
        )
    # Dividing by the largest first keeps the sum finite.
    array = array / array.max()
    shares: np.ndarray = array / array.sum()
    return shares


def usual_of(values: np.ndarray) -> float:
    """The value of rank ceil(n / 2) of [n], n at least 1: the median, and of an even number the smaller in the middle.

    While at most half of the values are wrong, no wrong one makes it larger than the largest right one.
    """
    return float(np.sort(values)[(len(values) - 1) // 2])
