"""Results for one class against all others, as medicine reads them, from counts alone and with 95 % intervals."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields

import numpy as np

from pfedgp_core.metrics.class_scores import SCORE_BINS
from pfedgp_core.metrics.intervals import (
    Estimate,
    auroc_estimate,
    f1_estimate,
    mean_estimate,
    share_estimate,
)

__all__ = ["CLASS_METRICS", "ClassCounts", "area_under_precision_recall", "area_under_roc", "balanced_accuracy"]

CLASS_METRICS = ("sensitivity", "specificity", "ppv", "npv", "f1", "auroc", "auprc")


def _no_scores() -> np.ndarray:
    return np.zeros((2, SCORE_BINS), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """Samples by whether they have the class and whether it was predicted; adding two pools their samples.

    Parameters
    ----------
    tp, fn, fp, tn : int
        Of the class and predicted as it, of the class only, predicted only, neither.
    scores : int64 [2, SCORE_BINS]
        Samples of the class, and all others, by bin of their score; all 0 where scores are not known.
    sites : int
        Sites whose samples these are.
    """

    tp: int = 0
    fn: int = 0
    fp: int = 0
    tn: int = 0
    scores: np.ndarray = field(default_factory=_no_scores)
    sites: int = 1

    @classmethod
    def of(cls, c: int, confusion: Iterable[tuple[int, int, int]], scores: np.ndarray | None = None) -> "ClassCounts":
        """Count for class `c` what a site's confusion says, rows of (true class, predicted class, samples)."""
        cells = [[0, 0], [0, 0]]
        for true, predicted, n in confusion:
            cells[true == c][predicted == c] += n
        (tn, fp), (fn, tp) = cells
        return cls(tp, fn, fp, tn, _no_scores() if scores is None else scores)

    def __add__(self, other: "ClassCounts") -> "ClassCounts":
        return ClassCounts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def positives(self) -> int:
        """Samples of the class."""
        return self.tp + self.fn

    @property
    def samples(self) -> int:
        """All samples."""
        return self.tp + self.fn + self.fp + self.tn

    def estimates(self) -> dict[str, Estimate | None]:
        """Return each of `CLASS_METRICS`; None where no sample says anything about it.

        Shares have Wilson's interval, F1 that of the share that it is a function of. AUPRC is the average precision, a
        mean over the samples of the class of shares, and has Wilson's interval of as many samples.
        """
        positives, negatives = (int(n) for n in self.scores.sum(axis=1))
        roc, precision = area_under_roc(self.scores), area_under_precision_recall(self.scores)
        return {
            "sensitivity": share_estimate(self.tp, self.positives),
            "specificity": share_estimate(self.tn, self.tn + self.fp),
            "ppv": share_estimate(self.tp, self.tp + self.fp),
            "npv": share_estimate(self.tn, self.tn + self.fn),
            "f1": f1_estimate(self.tp, self.fp, self.fn),
            "auroc": None if roc is None else auroc_estimate(roc, positives, negatives),
            "auprc": None if precision is None else share_estimate(precision * positives, positives),
        }


def balanced_accuracy(classes: Mapping[int, ClassCounts]) -> Estimate | None:
    """The mean sensitivity of the classes that have a sample; None without any."""
    found = [share_estimate(each.tp, each.positives) for each in classes.values()]
    return mean_estimate([each for each in found if each is not None])


def area_under_roc(scores: np.ndarray) -> float | None:
    """Share of pairs in which the sample of the class has the higher bin; equal bins count half.

    Parameters
    ----------
    scores : int [2, bins]
        Samples of the class, and all others.

    Returns
    -------
    float or None
        None where one of the two has no sample.
    """
    positives, negatives = scores.astype(np.float64)
    pairs = positives.sum() * negatives.sum()
    below = np.cumsum(negatives) - negatives
    return float((positives * (below + negatives / 2)).sum() / pairs) if pairs else None


def area_under_precision_recall(scores: np.ndarray) -> float | None:
    """Average precision: precision at each threshold between bins, weighted with the recall that it adds.

    Arguments and None as for `area_under_roc`.
    """
    positives, negatives = scores[:, ::-1].astype(np.float64)
    if not positives.any() or not negatives.any():
        return None
    found, all_above = np.cumsum(positives), np.cumsum(positives + negatives)
    precision = np.divide(found, all_above, out=np.zeros_like(found), where=all_above > 0)
    return float((precision * positives).sum() / found[-1])
