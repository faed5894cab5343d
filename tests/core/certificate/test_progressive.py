"""Certificates from classifiers of the first t samples."""

import numpy as np
import pytest
import torch

from experiments.certificate_violations import LEARNERS, SIZES, simulate
from experiments.hard_populations import POPULATIONS, Population
from pfedgp_core.certificate.mixture_martingale import mixture_bound
from pfedgp_core.certificate.pac_bayes import kl_inverse
from pfedgp_core.certificate.progressive import (
    ABOUT_A_HEAD,
    Answers,
    Plan,
    bound_progress,
    disagreement_bound,
    progress,
)
from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.classifier import PersonalClassifier
from tests.certified import sample

CHEAP = GPSettings(output_scale=8.0, predict_chains=4, predict_sweeps=3)


def constant(answer: int) -> Answers:
    return lambda rows: np.full(len(rows), answer)


def test_each_sample_is_answered_by_a_classifier_of_those_before_it() -> None:
    order, fitted = np.array([4, 2, 0, 5, 1, 3]), []

    def fit(rows: np.ndarray) -> Answers:
        fitted.append(rows.tolist())
        return lambda tested: tested[:, 0].astype(int) % 2

    features = np.arange(6.0)[:, None]
    found = progress(fit, features, np.array([0, 1, 0, 0, 0, 1]), order, constant(0))
    assert fitted == [[0, 2, 4], [0, 2, 4, 5], [0, 1, 2, 4, 5]]
    assert (found.errors, found.steps) == (1, 3)  # samples 5, 1 and 3 are answered by 1
    assert found.disagreement is None


def test_disagreement_is_weighed_by_what_each_classifier_was_tested_on() -> None:
    first = True

    def fit(rows: np.ndarray) -> Answers:
        nonlocal first
        answer, first = (1, False) if first else (0, first)
        return constant(answer)

    found = progress(fit, np.zeros((6, 1)), np.zeros(6, int), np.arange(6), constant(0), np.zeros((7, 1)), Plan(fits=2))
    assert found == (1, 3, pytest.approx(1 / 3), 7)  # the first classifier is tested on one of three samples


def test_bounds_share_delta() -> None:
    found = progress(lambda rows: constant(0), np.zeros((50, 1)), np.zeros(50, int), np.arange(50), constant(0))
    alone = bound_progress(found, 50, 0.01)
    assert alone.on_the_way == mixture_bound(0, 25, 0.01)
    assert alone.deployed == 1.0
    with_inputs = bound_progress(found._replace(disagreement=0.0, unlabelled=1000), 50, 0.01)
    assert with_inputs.on_the_way == mixture_bound(0, 25, 0.008)
    assert with_inputs.disagreement == pytest.approx(1 - 0.002 ** (1 / 1000))
    assert with_inputs.deployed == with_inputs.on_the_way + with_inputs.disagreement
    assert with_inputs.deployed < 0.21


def test_the_disagreement_s_bound_is_the_tail_of_hoeffding() -> None:
    assert disagreement_bound(0.1, 40, 0.002) == float(kl_inverse(0.1, -np.log(0.002) / 40))
    with pytest.raises(ConfigError, match="at least one"):
        disagreement_bound(0.1, 0, 0.01)


@pytest.mark.parametrize("order", [[0, 1], [0, 0, 1], [1, 2, 3]])
def test_an_order_that_is_none(order: list[int]) -> None:
    with pytest.raises(DataError, match="permutation"):
        progress(lambda rows: constant(0), np.zeros((3, 1)), np.zeros(3, int), np.array(order), constant(0))


@pytest.mark.parametrize("variant", ["full", "ip-data", "ip-compute"])
def test_every_variant_has_one(variant: str) -> None:
    settings = Settings(variant=variant, gp=CHEAP)
    inducing = torch.from_numpy(np.stack([sample(8, 3, seed=s)[0] for s in (5, 6, 7)])) if variant != "full" else None
    x, y = sample(40, 3)

    def fit(rows: np.ndarray) -> Answers:
        return PersonalClassifier(settings, Stream(3, "test"), inducing).fit(x[rows], y[rows]).predict

    order = Stream(1, "order").numpy.permutation(40)
    found = progress(fit, x, y, order, fit(np.arange(40)), sample(200, 3, seed=4)[0], Plan(fits=8))
    certificate = bound_progress(found, 40, 0.05)
    assert found.steps == 20
    assert certificate.progress.disagreement is not None
    assert certificate.on_the_way < certificate.deployed < 0.6


def test_a_plan_says_where_the_tests_begin() -> None:
    sizes: list[int] = []

    def fit(rows: np.ndarray) -> Answers:
        sizes.append(len(rows))
        return constant(0)

    for n in (2, 50):
        found = progress(fit, np.zeros((n, 1)), np.zeros(n, int), np.arange(n), constant(0), plan=ABOUT_A_HEAD)
        assert found.steps == n - sizes[-found.steps]
    assert sizes == [1, *range(12, 50)]


@pytest.mark.parametrize("population", POPULATIONS, ids=lambda population: population.name)
def test_no_more_violations_than_delta(population: Population) -> None:
    for learner in LEARNERS:
        for n in SIZES:
            assert simulate(population, learner, n, draws=200, seed=11).excess() == []


def test_a_bound_that_is_too_small_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.certificate_violations.mixture_bound", lambda e, steps, delta: e / steps)
    population = next(p for p in POPULATIONS if p.name == "labels that are noise")
    assert "on the way" in simulate(population, "class mean", 20, draws=200, seed=11).excess()[0]
