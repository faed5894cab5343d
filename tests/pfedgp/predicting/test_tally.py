"""Sums over predictions that come in parts."""

import numpy as np
import pytest

from pfedgp.predicting import tally as module
from pfedgp.predicting.tally import Tally
from pfedgp_core.site.streamed import Predicted
from pfedgp_core.tree.uncertainty import Prediction
from tests.table_site import table_site


def part(answers: list[int], labels: list[str] | None, largest: float = 0.9) -> Predicted:
    n = len(answers)
    probabilities = np.full((n, 2), 1 - largest)
    probabilities[range(n), answers] = largest
    zeros = np.zeros(n)
    found = Prediction(probabilities, zeros, zeros, zeros, np.array(answers))
    return Predicted(tuple(map(str, range(n))), None if labels is None else tuple(labels), found)


def test_parts_are_added() -> None:
    tally = Tally(table_site(), 0.8)
    tally.add(part([0, 1, 0], ["ill", "well", "well"]))
    tally.add(part([1], ["well"], largest=0.7))
    assert (tally.samples, tally.doubtful, tally.accuracy()) == (4, 1, 0.75)
    assert tally.accuracy(answered=True) == 2 / 3


def test_where_all_are_doubtful_no_answer_is_right_or_wrong() -> None:
    tally = Tally(table_site(), 0.95)
    tally.add(part([0, 1], ["ill", "well"]))
    assert (tally.accuracy(), tally.accuracy(answered=True)) == (1.0, None)


def test_there_is_no_accuracy_without_all_labels_or_with_unknown_ones() -> None:
    for labels in (None, ["ill", ""], ["ill", "another"]):
        tally = Tally(table_site(), 0.0)
        tally.add(part([0], ["ill"]))
        tally.add(part([0, 1], labels))
        tally.add(part([0], ["ill"]))
        assert (tally.samples, tally.accuracy()) == (4, None)


def test_labels_that_are_all_different_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAIRS", 15)
    tally = Tally(table_site(), 0.0)
    for first in (0, 10):
        tally.add(part([0] * 10, [str(first + i) for i in range(10)]))
    assert tally._pairs is None
