r"""Conformal prediction sets: every class whose probability is as large as those that true classes have.

The score of a sample is the probability that its true class got. From n scores the threshold is the floor(alpha (n +
1))-th smallest, and a set holds the classes with at least that probability: 1 - alpha is the coverage asked for. Where
floor is 0 there is none, and every set holds all classes.

* Scores of samples that were kept out of everything (split conformal): a new sample's class is in its set with
  probability at least 1 - alpha over these samples and the new one, for any classifier and any law, if they are
  exchangeable (Vovk et al. 2005). Class by class the same holds for the samples of each class.
* Leave-one-out scores of the site's own samples (the jackknife): no such proof. Its coverage is 1 - alpha where
  leaving one sample out hardly changes the answers; it can be lower where that is not so. Nothing is guaranteed for a
  site that took part in the training, whose features know its samples.
"""

import math
from dataclasses import dataclass

import numpy as np

from pfedgp_core.certificate.levels import require_level
from pfedgp_core.errors import DataError

__all__ = ["SetRule", "fit_sets"]


@dataclass(frozen=True)
class SetRule:
    """Thresholds of the prediction sets.

    Attributes
    ----------
    thresholds : array [k]
        Least probability of each class that is in a set; -inf where it always is.
    coverage : float
        As asked for.
    samples : tuple of int
        Scores behind each class's threshold.
    """

    thresholds: np.ndarray
    coverage: float
    samples: tuple[int, ...]

    def members(self, probabilities: np.ndarray) -> np.ndarray:
        """Which classes are in the sets of T samples, bool [T, k]."""
        members: np.ndarray = probabilities >= self.thresholds
        return members


def fit_sets(probabilities: np.ndarray, columns: np.ndarray, coverage: float, by_class: bool = False) -> SetRule:
    """Thresholds from samples whose class is known.

    Parameters
    ----------
    probabilities : array [n, k]
        Of each sample, by a classifier that does not know it.
    columns : int [n]
        Column of the true class; -1 where the classifier lacks it. It counts as a score of -1, below all; no set
        holds such a class, so the share of such samples is missing from the coverage.
    coverage : float
        1 - alpha.
    by_class : bool
        A threshold for each class, from its own samples, so that each class is covered by itself.

    Raises
    ------
    ConfigError
        A coverage outside (0, 1).
    DataError
        There are no samples.
    """
    require_level("coverage", coverage, 0.9)
    if not len(columns):
        raise DataError("Prediction sets need samples whose class is known: there are none.")
    rows = np.arange(len(columns))
    scores = np.where(columns >= 0, probabilities[rows, columns.clip(0)], -1.0)
    k = probabilities.shape[1]
    if not by_class:
        return SetRule(np.full(k, _threshold(scores, coverage)), coverage, (len(scores),) * k)
    parts = [scores[columns == column] for column in range(k)]
    return SetRule(np.array([_threshold(p, coverage) for p in parts]), coverage, tuple(map(len, parts)))


def _threshold(scores: np.ndarray, coverage: float) -> float:
    """The floor(alpha (n + 1))-th smallest score; a score that rounding has moved up must not count as larger."""
    place = math.floor((1 - coverage) * (len(scores) + 1) + 1e-9)
    return float(np.sort(scores)[place - 1]) if place >= 1 else -math.inf
