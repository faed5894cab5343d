"""Conformal prediction sets: their thresholds and their coverage."""

import math

import numpy as np
import pytest

from pfedgp_core.certificate.conformal import fit_sets
from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.classifier import PersonalClassifier
from tests.certified import sample

DRAWS, COVERAGE = 400, 0.9


def noisy(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities [n, 4] that are not calibrated, and labels; class 3 is rare and badly predicted."""
    labels = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
    logits = rng.normal(size=(n, 4)) + 2.0 * np.eye(4)[labels] * (labels < 3)[:, None]
    powers = np.exp(3 * logits)
    return powers / powers.sum(1, keepdims=True), labels


def coverage(by_class: bool, n: int) -> np.ndarray:
    """Share of new samples of each class and of all [5] whose class is in their set, a mean over draws of both."""
    rng = np.random.default_rng(1)
    hits, counts = np.zeros(5), np.zeros(5)
    for _ in range(DRAWS):
        rule = fit_sets(*noisy(n, rng), COVERAGE, by_class)
        probabilities, labels = noisy(50, rng)
        inside = rule.members(probabilities)[np.arange(50), labels]
        hits += np.r_[np.bincount(labels, inside, 4), inside.sum()]
        counts += np.r_[np.bincount(labels, minlength=4), 50]
    return hits / counts


def test_the_threshold_is_the_stated_quantile() -> None:
    probabilities = np.linspace(0.05, 0.95, 19)[:, None]
    rule = fit_sets(probabilities, np.zeros(19, int), 0.9)
    assert rule.thresholds.tolist() == [probabilities[1, 0]]  # the second of 19, floor(.1 * 20)
    assert fit_sets(probabilities[:8], np.zeros(8, int), 0.9).thresholds.tolist() == [-math.inf]
    assert fit_sets(probabilities[:9], np.zeros(9, int), 0.9).thresholds.tolist() == [probabilities[0, 0]]


def test_marginal_coverage_is_at_least_what_was_asked_for() -> None:
    found = coverage(by_class=False, n=60)
    assert COVERAGE - 0.015 < found[4] < COVERAGE + 0.03
    assert found[3] < COVERAGE - 0.05  # the rare class pays


def test_each_class_is_covered_by_itself() -> None:
    found = coverage(by_class=True, n=60)
    assert (found > COVERAGE - 0.02).all()


@pytest.mark.slow
def test_sets_from_leave_one_out() -> None:
    """An estimate: no proof, but the coverage of a site's own samples comes out near the one asked for."""
    settings = Settings(gp=GPSettings(predict_chains=8))
    hits = []
    for seed in range(12):
        x, y = sample(60, 3, seed=seed, spread=0.8)
        classifier = PersonalClassifier(settings, Stream(seed, "test")).fit(x, y)
        left_out = np.exp(classifier.leave_one_out_log_proba())
        rule = fit_sets(left_out / left_out.sum(1, keepdims=True), y, COVERAGE)
        new, labels = sample(300, 3, seed=100 + seed, spread=0.8)
        hits.append(rule.members(classifier.predict_proba(new))[np.arange(300), labels].mean())
    assert np.mean(hits) == pytest.approx(COVERAGE, abs=0.03)


def test_a_class_that_the_classifier_lacks_widens_all_sets() -> None:
    probabilities = np.full((10, 2), 0.5)
    rule = fit_sets(probabilities, np.full(10, -1), 0.9)
    assert rule.members(np.array([[1.0, 0.0]])).all()


def test_mistakes() -> None:
    with pytest.raises(ConfigError, match=r"coverage = 1\.0"):
        fit_sets(np.ones((3, 1)), np.zeros(3, int), 1.0)
    with pytest.raises(DataError, match="there are none"):
        fit_sets(np.ones((0, 2)), np.zeros(0, int), 0.9)
