r"""Samples that a classifier cannot tell from others of its site: copies, and copies that were changed a little.

A classifier sees features on the unit sphere. Two inputs are near copies where their distance there is at most a share
of what is usual between a sample and the nearest other one. That is taken from the data that the site was made from, so
no copies that it learned later change it.
"""

import numpy as np
import torch

from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.site.samples import SiteSamples

__all__ = ["NEAR", "among", "near", "reach", "singles"]

NEAR = 0.3  # of the median distance to the nearest other input
ASKED = 1000  # samples for that median
ROUNDING = 1e-12  # of a squared distance on the sphere
ROWS = 1024


def reach(samples: SiteSamples) -> float:
    """The distance up to which inputs are near copies at a site; 0 where all its first inputs are equal."""
    batches = np.array([origin.batch for origin in samples.origins])
    points = _points(samples)[batches == batches.min()]
    squares = _squares(points[:ASKED], points)
    nearest = np.where(squares > ROUNDING, squares, np.inf).min(axis=1)
    nearest = nearest[np.isfinite(nearest)]
    return NEAR * float(np.sqrt(np.median(nearest))) if len(nearest) else 0.0


def among(samples: SiteSamples, known: SiteSamples, distance: float, same_class: bool = False) -> np.ndarray:
    """Which samples are near copies of one that is known, bool [n].

    Parameters
    ----------
    samples, known : SiteSamples
    distance : float
        From `reach`.
    same_class : bool
        Whether the known one must have the same class.
    """
    points, others = _points(samples), _points(known)
    found: np.ndarray = np.zeros(len(points), dtype=bool)
    for start in range(0, len(points), ROWS):
        rows = slice(start, start + ROWS)
        close = near(points[rows], others, distance)
        if same_class:
            close &= samples.labels[rows, None] == known.labels
        found[rows] = close.any(axis=1)
    return found


def singles(samples: SiteSamples, distance: float) -> tuple[np.ndarray, np.ndarray]:
    """One sample of every set of near copies of a class: their rows [m], ascending, and how many each stands for [m].

    A sample stands for those after it that are near to it and for no others, so that no chain of small steps joins
    samples that are far from each other.
    """
    points, labels = _points(samples), samples.labels
    left: np.ndarray = np.ones(len(points), dtype=bool)
    rows, times = [], []
    for i in range(len(points)):
        if left[i]:
            same = left & (labels == labels[i]) & near(points[i : i + 1], points, distance)[0]
            rows.append(i)
            times.append(int(same.sum()))
            left &= ~same
    return np.array(rows), np.array(times, dtype=np.float64)


def near(points: np.ndarray, others: np.ndarray, distance: float) -> np.ndarray:
    """Which pairs of points on the sphere are that near, bool [n, m]."""
    close: np.ndarray = _squares(points, others) <= distance**2 + ROUNDING
    return close


def _points(samples: SiteSamples) -> np.ndarray:
    points: np.ndarray = unit_sphere(torch.from_numpy(samples.features).double()).numpy()
    return points


def _squares(points: np.ndarray, others: np.ndarray) -> np.ndarray:
    squares: np.ndarray = (points**2).sum(1)[:, None] + (others**2).sum(1) - 2 * points @ others.T
    return squares
