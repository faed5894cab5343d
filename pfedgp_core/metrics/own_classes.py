"""Predictions over the client's own classes alone: the second of the two columns of every evaluation.

A method whose classifiers know all classes of the federation is measured twice: as it predicts, and restricted to the
classes of the client's training data, as a tree that holds only these would be asked.
"""

import numpy as np
from numpy.typing import ArrayLike

from pfedgp_core.metrics.classification import MetricSums, checked_probabilities, metric_sums

__all__ = ["label_columns", "own_class_sums", "restrict"]


def restrict(probabilities: ArrayLike, kept: ArrayLike) -> np.ndarray:
    """Return the probabilities of some columns, renormalised.

    Parameters
    ----------
    probabilities : float [N, K]
        Rows sum to 1.
    kept : bool [K]
        Columns that stay; at least one.

    Returns
    -------
    float64 array [N, kept columns]
        Every row sums to 1; equal shares where no kept column has any probability.

    Raises
    ------
    DataError
        Rows that are no probabilities.
    """
    inside = checked_probabilities(probabilities)[:, np.asarray(kept, dtype=bool)]
    mass = inside.sum(axis=1, keepdims=True)
    equal = np.full_like(inside, 1.0 / inside.shape[1])
    restricted: np.ndarray = np.divide(inside, mass, out=equal, where=mass > 0)
    return restricted


def own_class_sums(
    probabilities: ArrayLike, classes: np.ndarray, labels: np.ndarray, trained: np.ndarray
) -> MetricSums | None:
    """Sum metrics over samples whose probabilities are restricted to the client's own classes.

    Parameters
    ----------
    probabilities : float [N, K]
        Rows sum to 1.
    classes : int [K]
        Sorted class ids of the columns.
    labels : int [N]
        True class ids; one outside the own classes has probability 0 and counts as an error.
    trained : int [M]
        Labels of the client's training data.

    Returns
    -------
    MetricSums or None
        None where every column is an own class already, so that nothing would change; and where none is.

    Raises
    ------
    DataError
        Rows that are no probabilities.
    """
    kept = np.isin(classes, trained)
    if kept.all() or not kept.any():
        return None
    return metric_sums(restrict(probabilities, kept), label_columns(classes[kept], labels))


def label_columns(classes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Column of each label [N] among the sorted class ids [K] of a classifier; -1 where it is none of them."""
    columns = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
    found: np.ndarray = np.where(classes[columns] == labels, columns, -1)
    return found
