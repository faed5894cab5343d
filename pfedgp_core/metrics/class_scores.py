"""Scores of one class against all others, counted in bins: from them follow the areas under ROC and precision curves.

A sample's score for a class is that class's probability at temperature 1. The bins are equally wide on the scale of
log p / (1 - p), so that they are narrow where classifiers are nearly sure.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pfedgp_core.bounded_counts import even_part
from pfedgp_core.checks import MALFORMED, count
from pfedgp_core.errors import DataError

__all__ = ["MOST_CLASSES", "SCORE_BINS", "ScoreCounts", "score_bins", "score_counts"]

SCORE_BINS = 128
MOST_CLASSES = 100  # of a site that sends scores; the message grows with their number
_WIDTH = 0.25  # of a bin, in units of log p / (1 - p)
_FIELDS = ("class", "bin", "positives", "negatives")


@dataclass(frozen=True)
class ScoreCounts:
    """Of one client, by default of no sample.

    Attributes
    ----------
    rows : tuple of (class, bin, samples of the class, other samples)
        By the federation's class ids, for each class that the classifier knows or a sample has; only bins that hold a
        sample, sorted.
    """

    rows: tuple[tuple[int, int, int, int], ...] = ()

    @property
    def classes(self) -> tuple[int, ...]:
        """The classes with scores, ascending."""
        return tuple(sorted({row[0] for row in self.rows}))

    def of_class(self, c: int) -> np.ndarray:
        """Samples of a class, and all others, by bin: int64 [2, SCORE_BINS]."""
        found = np.zeros((2, SCORE_BINS), dtype=np.int64)
        for known, place, positives, negatives in self.rows:
            if known == c:
                found[:, place] = positives, negatives
        return found

    def by_class(self, n: int) -> dict[int, np.ndarray]:
        """Return `of_class` of every class, reduced to `n` samples taken evenly where there are more."""
        dense: dict[int, np.ndarray] = {}
        for c, place, positives, negatives in self.rows:
            dense.setdefault(c, np.zeros((2, SCORE_BINS), dtype=np.int64))[:, place] = positives, negatives
        return {c: _thinned(counts, n) for c, counts in dense.items()}

    def to_dict(self) -> dict[str, list[int]]:
        """Return flat lists of numbers; none of no sample, as sites of former versions send."""
        return {name: [row[i] for row in self.rows] for i, name in enumerate(_FIELDS)} if self.rows else {}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "ScoreCounts":
        """Read what ``to_dict`` wrote.

        Raises
        ------
        DataError
            A field is missing, of the wrong length, or contradicts another.
        """
        if not fields:
            return cls()
        try:
            columns = [[count(x) for x in fields[name]] for name in _FIELDS]
            rows = tuple(zip(*columns, strict=True))
        except MALFORMED as error:
            raise DataError(f"These are not counts of scores ({type(error).__name__}).") from None
        places = [row[:2] for row in rows]
        if places != sorted(set(places)) or any(row[1] >= SCORE_BINS or row[2] + row[3] < 1 for row in rows):
            raise DataError("The counts of scores hold a bin twice, unsorted, empty, or one that does not exist.")
        return cls(rows)

    def fits(self, totals: Mapping[int, int], n: int) -> bool:
        """Whether these can be of `n` samples, of which `totals` have each class."""
        positives: dict[int, int] = {}
        samples: dict[int, int] = {}
        for c, _, with_class, others in self.rows:
            positives[c] = positives.get(c, 0) + with_class
            samples[c] = samples.get(c, 0) + with_class + others
        return not self.rows or (
            all(samples[c] == n and positives[c] == totals.get(c, 0) for c in samples) and set(totals) <= set(samples)
        )


def score_bins(probabilities: np.ndarray) -> np.ndarray:
    """Bin of each probability, int64 of the same shape; a larger probability is never in a lower bin."""
    with np.errstate(divide="ignore"):
        logit = np.log(probabilities) - np.log1p(-probabilities)
    middle = SCORE_BINS // 2
    places: np.ndarray = np.clip(np.floor(logit / _WIDTH), -middle, middle - 1).astype(np.int64) + middle
    return places


def score_counts(probabilities: np.ndarray, classes: np.ndarray, labels: np.ndarray) -> ScoreCounts:
    """Count the scores of a classifier; of none where there are more than `MOST_CLASSES`.

    Parameters
    ----------
    probabilities : float [N, K]
        Rows sum to 1.
    classes : int [K]
        Sorted class ids of the columns.
    labels : int [N]
        True class ids. One outside the columns has a score of 0.
    """
    known = sorted({*classes.tolist(), *labels.tolist()})
    if not len(labels) or len(known) > MOST_CLASSES:
        return ScoreCounts()
    places = score_bins(np.clip(probabilities, 0.0, 1.0).astype(np.float64))
    columns = {c: places[:, i] for i, c in enumerate(classes.tolist())}
    return ScoreCounts(tuple(_rows(known, columns, labels)))


def _rows(
    known: Iterable[int], columns: Mapping[int, np.ndarray], labels: np.ndarray
) -> Iterable[tuple[int, int, int, int]]:
    for c in known:
        at, mine = columns.get(c, np.zeros(len(labels), dtype=np.int64)), labels == c
        positives, negatives = (np.bincount(at[of], minlength=SCORE_BINS) for of in (mine, ~mine))
        for place in np.flatnonzero(positives + negatives).tolist():
            yield c, place, int(positives[place]), int(negatives[place])


def _thinned(counts: np.ndarray, n: int) -> np.ndarray:
    if n >= counts.sum():
        return counts
    return np.array(even_part(counts.ravel().tolist(), n), dtype=np.int64).reshape(counts.shape)
