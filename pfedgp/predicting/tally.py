"""Sums over predictions that come in parts: how many, how many to abstain from, how many right."""

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pfedgp_core.data.own.class_ids import map_classes
from pfedgp_core.errors import DataError

if TYPE_CHECKING:
    from pfedgp_core.site.saved import SavedSite
    from pfedgp_core.site.streamed import Predicted

__all__ = ["Tally"]

PAIRS = 100_000  # of a label and an answer that are counted apart; labels that are all different are no classes


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
    _pairs: "Counter[tuple[str, int]] | None" = field(default_factory=Counter)

    def add(self, predicted: "Predicted") -> None:
        """Count further predictions."""
        found = predicted.prediction
        self.samples += len(predicted.ids)
        self.doubtful += int(predicted.doubtful(self.threshold, self.least).sum())
        if self._pairs is None or predicted.labels is None or not all(predicted.labels):
            self._pairs = None
            return
        self._pairs.update(zip(predicted.labels, found.predicted.tolist(), strict=True))
        if len(self._pairs) > PAIRS:
            self._pairs = None

    def accuracy(self) -> float | None:
        """Share of right answers; None where a sample has no label, or one that the federation does not know."""
        if not self._pairs:
            return None
        labels, columns = zip(*self._pairs, strict=True)
        try:
            truth = map_classes(labels, self.site.model.class_names)
        except DataError:
            return None
        right = self.site.classifier.classes_[list(columns)] == truth
        counts = self._pairs.values()
        return sum(n for n, is_right in zip(counts, right.tolist(), strict=True) if is_right) / sum(counts)
