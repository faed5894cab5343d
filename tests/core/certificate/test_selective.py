"""Abstention with a stated risk: the threshold that is chosen, and how often its risk is larger."""

import numpy as np
import pytest

from experiments.risk_violations import Population, populations, simulate, sums
from experiments.too_often import ended, too_often
from pfedgp_core.certificate.binomial_bound import clopper_pearson
from pfedgp_core.certificate.selective import Candidate, choose_threshold, from_bins, from_confidences, needed_samples
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.metrics.classification import MetricSums

RISK, DELTA = 0.05, 0.1


def test_needed_samples() -> None:
    least = needed_samples(0.02, 0.05)
    assert clopper_pearson(0, least, 0.05) <= 0.02 < clopper_pearson(0, least - 1, 0.05)
    with pytest.raises(ConfigError, match="risk = 1"):
        needed_samples(1.0, 0.05)


def test_the_last_candidate_before_the_first_failure_is_chosen() -> None:
    passing, failing, late = Candidate(0.9, 100, 1), Candidate(0.8, 120, 12), Candidate(0.7, 400, 1)
    rule = choose_threshold([Candidate(0.95, 80, 0), passing, failing, late], 500, RISK, DELTA)
    assert (rule.threshold, rule.answered, rule.wrong, rule.samples) == (0.9, 100, 1, 500)
    assert rule.bound == clopper_pearson(1, 100, DELTA)


def test_nothing_is_chosen_where_the_first_candidate_fails() -> None:
    with pytest.raises(DataError, match="at least 45 answers without an error are needed"):
        choose_threshold([Candidate(0.95, 44, 0), Candidate(0.5, 1000, 0)], 1000, RISK, DELTA)


def test_candidates_of_a_site_are_quantiles_of_other_samples() -> None:
    rng = np.random.default_rng(0)
    confidence, others = rng.uniform(0.5, 1, 400), rng.uniform(0.5, 1, 300)
    wrong, missed = rng.random(400) < 0.1, rng.random(300) < 0.5 * (others < 0.8)
    found = from_confidences(confidence, wrong, (others, missed), DELTA)
    assert found[-1] == Candidate(0.0, 400, int(wrong.sum()))
    thresholds = np.array([c.threshold for c in found])
    assert (np.diff(thresholds) < 0).all()
    assert found[0].threshold == pytest.approx(0.8, abs=0.03)  # below it the others are often wrong
    middle = found[len(found) // 2]
    assert middle.answered == (confidence >= middle.threshold).sum()
    other = from_confidences(confidence, ~wrong, (others, missed), DELTA)
    assert [c.threshold for c in other] == thresholds.tolist()  # whatever is wrong


def test_candidates_of_a_federation_are_its_bins() -> None:
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.5, 1, 400)
    wrong = rng.random(400) < 0.1
    tested = sums(confidence, wrong)
    found = from_bins(tested, sums(rng.uniform(0.5, 1, 400), wrong), DELTA)
    for threshold, answered, errors in found:
        assert answered == (confidence >= threshold).sum()
        assert errors == wrong[confidence >= threshold].sum()
    assert found[-1].answered == 400
    assert found[0].answered > 100
    assert len(from_bins(tested, MetricSums.zero(), DELTA)) == 15  # without validation data from the top on


@pytest.mark.parametrize("where", ["site", "federation"])
@pytest.mark.parametrize("population", populations(RISK), ids=lambda population: population.name)
def test_the_risk_is_seldom_larger(where: str, population: Population) -> None:
    draws = 200
    risks = simulate(where, population, 300, RISK, DELTA, draws, seed=5)
    assert not too_often(sum(risk > RISK for risk in risks), draws, DELTA)


def test_a_threshold_is_found_where_errors_are_rare() -> None:
    population = populations(RISK)[5]
    risks = simulate("federation", population, 1000, RISK, DELTA, 50, seed=5)
    assert len(risks) >= 45


def test_a_choice_of_the_best_looking_threshold_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pfedgp_core.certificate.selective.clopper_pearson", lambda e, n, delta: e / n)
    population = populations(RISK)[2]
    risks = simulate("site", population, 300, RISK, DELTA, 200, seed=5)
    assert too_often(sum(risk > RISK for risk in risks), 200, DELTA)


def test_a_script_that_counts_violations_ends_with_one_where_there_are_too_many(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (ended([]), ended(["a, n = 20"])) == (0, 1)
    assert capsys.readouterr().err == "Too many violations: a, n = 20\n"
