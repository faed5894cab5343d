"""Every number by class is that of scikit-learn on the predictions themselves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    precision_score,
    recall_score,
    roc_auc_score,
)

from pfedgp_core.errors import DataError
from pfedgp_core.metrics.calibration import confusion_counts
from pfedgp_core.metrics.class_results import ClassCounts, balanced_accuracy
from pfedgp_core.metrics.class_scores import MOST_CLASSES, ScoreCounts, score_bins, score_counts

CLASSES = np.array([2, 5, 7])


def predictions(n: int, seed: int, sharpness: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the three classes [n, 3], and true class ids [n]."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(CLASSES, n, p=[0.7, 0.2, 0.1])
    logits = rng.normal(size=(n, 3)) + sharpness * (labels[:, None] == CLASSES)
    powers = np.exp(logits)
    return powers / powers.sum(axis=1, keepdims=True), labels


def counts(p: np.ndarray, labels: np.ndarray) -> dict[int, ClassCounts]:
    confusion = confusion_counts(labels, CLASSES[p.argmax(axis=1)])
    scores = score_counts(p, CLASSES, labels)
    return {c: ClassCounts.of(c, confusion, scores.of_class(c)) for c in CLASSES.tolist()}


@pytest.mark.parametrize("place", [0, 1, 2])
def test_numbers_of_a_class_are_those_of_scikit_learn(place: int) -> None:
    p, labels = predictions(400, seed=place)
    truth, said = labels == CLASSES[place], p.argmax(axis=1) == place
    found = {key: each.value for key, each in counts(p, labels)[int(CLASSES[place])].estimates().items() if each}
    binned = score_bins(p[:, place])
    assert found == pytest.approx(
        {
            "sensitivity": recall_score(truth, said),
            "specificity": recall_score(~truth, ~said),
            "ppv": precision_score(truth, said),
            "npv": precision_score(~truth, ~said),
            "f1": f1_score(truth, said),
            "auroc": roc_auc_score(truth, binned),
            "auprc": average_precision_score(truth, binned),
        }
    )
    # What bins change is small beside the interval.
    assert found["auroc"] == pytest.approx(roc_auc_score(truth, p[:, place]), abs=0.005)
    assert found["auprc"] == pytest.approx(average_precision_score(truth, p[:, place]), abs=0.03)


def test_balanced_accuracy_is_that_of_scikit_learn() -> None:
    p, labels = predictions(300, seed=4)
    found = balanced_accuracy(counts(p, labels))
    assert found is not None
    assert found.value == pytest.approx(balanced_accuracy_score(labels, CLASSES[p.argmax(axis=1)]))
    assert 0 <= found.low < found.value < found.high <= 1


def test_counts_of_parts_add_up_to_those_of_the_whole() -> None:
    p, labels = predictions(200, seed=1)
    whole, first, rest = (counts(p[at], labels[at]) for at in (slice(None), slice(60), slice(60, None)))
    assert [(first[c] + rest[c]).estimates() for c in whole] == [each.estimates() for each in whole.values()]


def test_a_class_without_a_sample_has_no_sensitivity_and_no_areas() -> None:
    found = ClassCounts.of(3, [(1, 1, 8), (1, 3, 2)], np.array([[0] * 128, [10] + [0] * 127])).estimates()
    assert [key for key, each in found.items() if each is None] == ["sensitivity", "auroc", "auprc"]
    assert found["specificity"] is not None
    assert found["specificity"].value == 0.8


def test_a_class_that_the_classifier_lacks_has_the_lowest_score() -> None:
    scores = score_counts(np.array([[0.9, 0.1], [0.5, 0.5]]), np.array([0, 1]), np.array([4, 0]))
    assert scores.classes == (0, 1, 4)
    assert scores.of_class(4)[:, 0].tolist() == [1, 1]


@given(st.lists(st.floats(0, 1), min_size=2, max_size=50))
def test_a_larger_probability_is_never_in_a_lower_bin(values: list[float]) -> None:
    bins = score_bins(np.sort(np.array(values)))
    assert bins[0] >= 0
    assert bins[-1] <= 127
    assert (np.diff(bins) >= 0).all()


def test_scores_travel() -> None:
    p, labels = predictions(50, seed=2)
    scores = score_counts(p, CLASSES, labels)
    assert ScoreCounts.from_dict(scores.to_dict()) == scores
    assert ScoreCounts.from_dict({}) == ScoreCounts()


def test_scores_of_other_samples_do_not_fit() -> None:
    p, labels = predictions(50, seed=2)
    scores, totals = score_counts(p, CLASSES, labels), {c: int((labels == c).sum()) for c in CLASSES.tolist()}
    assert scores.fits(totals, 50)
    assert not scores.fits(totals, 51)
    assert not scores.fits(totals | {2: totals[2] + 1, 5: totals[5] - 1}, 50)
    assert not scores.fits(totals | {9: 1}, 50)


@pytest.mark.parametrize(
    ("field", "values", "said"),
    [
        ("bin", [3, 128], "does not exist"),
        ("bin", [3, 3], "twice"),
        ("bin", [4, 3], "unsorted"),
        ("positives", [0, 0], "empty"),
        ("negatives", [1], "no counts|not counts"),
        ("positives", [-1, 2], "not counts"),
    ],
)
def test_scores_that_no_site_can_have_are_refused(field: str, values: list[int], said: str) -> None:
    sent = {"class": [1, 1], "bin": [3, 4], "positives": [0, 2], "negatives": [0, 0]} | {"negatives": [1, 0]}
    sent[field] = values
    if (field, said) == ("positives", "empty"):
        sent["negatives"] = [0, 0]
    with pytest.raises(DataError, match=said):
        ScoreCounts.from_dict(sent)


def test_so_many_classes_that_the_message_would_be_long_have_no_scores() -> None:
    many = MOST_CLASSES + 1
    assert score_counts(np.full((1, many), 1 / many), np.arange(many), np.array([0])) == ScoreCounts()


def test_a_reduced_site_keeps_its_shape() -> None:
    p, labels = predictions(1000, seed=6)
    scores = score_counts(p, CLASSES, labels)
    thin, whole = scores.by_class(300)[2], scores.by_class(10**6)[2]
    assert thin.sum() == 300
    assert np.abs(thin - 0.3 * whole).max() <= 1
