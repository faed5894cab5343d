"""Sums over predictions that come in parts: how many, how many to abstain from, how many right."""

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pfedgp_core.data.own.class_ids import map_classes
from pfedgp_core.errors import DataError

if TYPE_CHECKING:
    from pfedgp_core.site.saved import SavedSite
    from pfedgp_core.site.streamed import Predicted

__all__ = ["Tally"]

# Of a label and an answer, in doubt or not, that are counted apart: labels that are all different are no classes.
PAIRS = 100_000


@dataclass
class Tally:
    """Sums over the predictions so far.

    Attributes
    ----------
    samples, doubtful : int
        All, and those whose largest probability is below the threshold, or that are less typical than `least`.
    """

    site: "SavedSite"
    threshold: float
    samples: int = 0
    doubtful: int = 0
    least: float = 0.0
    _pairs: "Counter[tuple[str, int, bool]] | None" = field(default_factory=Counter)

    def add(self, predicted: "Predicted") -> None:
        """Count further predictions."""
        found, doubtful = predicted.prediction, predicted.doubtful(self.threshold, self.least)
        self.samples += len(predicted.ids)
        self.doubtful += int(doubtful.sum())
        if self._pairs is None or predicted.labels is None or not all(predicted.labels):
            self._pairs = None
            return
        self._pairs.update(zip(predicted.labels, found.predicted.tolist(), doubtful.tolist(), strict=True))
        if len(self._pairs) > PAIRS:
            self._pairs = None

    def accuracy(self, answered: bool = False) -> float | None:
        """Share of right answers, of all or of those that are not doubtful.

        None where there are none, or a sample has no label, or one that the federation does not know.
        """
        if not self._pairs:
            return None
        labels, columns, doubtful = zip(*self._pairs, strict=True)
        try:
            truth = map_classes(labels, self.site.model.class_names)
        except DataError:
            return None
        right = self.site.classifier.classes_[list(columns)] == truth
        counts = np.fromiter(self._pairs.values(), float) * ~(np.array(doubtful) & answered)
        return float(counts @ right / counts.sum()) if counts.any() else None
