"""The PAC-Bayes certificate whose prior is made of some of the samples."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import binom

from experiments.data_prior_violations import Outcome, simulate
from experiments.hard_populations import POPULATIONS, Population
from pfedgp_core.certificate.data_prior import DataPrior, bound_data_prior, compare_with_data_prior, disagreement
from pfedgp_core.certificate.gaussian_moments import Gaussian, gaussian_kl, matched_gaussian, part_of
from pfedgp_core.certificate.node_posterior import exact_gp
from pfedgp_core.certificate.pac_bayes import epsilon
from pfedgp_core.certificate.prior_price import log_class_sets, log_trees
from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.errors import ConfigError, DataError, NonFiniteError
from pfedgp_core.gp import dense
from pfedgp_core.numerics.streams import Stream
from tests.certified import fitted, sample

SEVERAL = Settings(gp=GPSettings(predict_chains=6))
THROUGH = Settings(variant="ip-compute", gp=GPSettings(predict_chains=6))


def node(settings: Settings) -> tuple:
    inducing = torch.from_numpy(np.stack([sample(8, 2, seed=s)[0] for s in (5, 6)]))
    options = {} if settings.variant == "full" else {"inducing": inducing}
    known, omega = fitted(30, 2, settings, **options)[0].nodes_[0]
    return exact_gp(known.gp), omega.double()


@pytest.mark.parametrize("settings", [SEVERAL, THROUGH], ids=["full", "ip-compute"])
def test_moments_are_those_of_the_chains_mixture(settings: Settings) -> None:
    gp, omega = node(settings)
    found = matched_gaussian(gp, omega, torch.arange(30))
    means, covariances = dense.posterior(gp.gram.detach(), omega, gp.kappa)
    second = (covariances + means[:, :, None] * means[:, None]).mean(0)
    assert torch.allclose(found.mean, means.mean(0), atol=1e-9)
    assert torch.allclose(found.covariance, second - torch.outer(found.mean, found.mean), atol=1e-8)


def test_given_some_points_the_others_follow_by_the_prior() -> None:
    gp, _ = node(SEVERAL)
    rows, others = torch.arange(0, 30, 3), torch.tensor([1, 2, 4])
    part = part_of(gp, rows)
    omega = part.sample_omega(5, 3, Stream(0, "part"))
    found = matched_gaussian(gp, omega, rows)
    mean, variance = part.predict(gp.inputs[others], omega)
    total = variance.mean(0) + mean.var(0, correction=0)
    assert torch.allclose(found.mean[others], mean.mean(0), atol=1e-9)
    assert torch.allclose(found.covariance.diagonal()[others], total, atol=1e-9)
    nothing = matched_gaussian(gp, omega[:, :0], rows[:0])
    assert torch.equal(nothing.covariance, gp.gram)
    assert not nothing.mean.any()


def test_kl_of_two_gaussians() -> None:
    gp, omega = node(SEVERAL)
    q, p = matched_gaussian(gp, omega, torch.arange(30)), matched_gaussian(gp, omega[:, :9], torch.arange(9))
    laws = [torch.distributions.MultivariateNormal(each.mean, each.covariance) for each in (q, p)]
    assert gaussian_kl(q, p) == pytest.approx(float(torch.distributions.kl_divergence(*laws)), rel=1e-9)
    assert gaussian_kl(q, q) == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(NonFiniteError, match="no finite KL"):
        gaussian_kl(Gaussian(q.mean, q.covariance * math.nan), p)


def test_the_constant_is_exact_for_binary_losses() -> None:
    for n, p in ((1, 0.3), (10, 0.3), (40, 0.02)):
        k = np.arange(n + 1)
        divergence = np.array([_kl(i / n, p) for i in k])
        expected = math.log(binom.pmf(k, n, p) @ np.exp(n * divergence))
        assert float(epsilon(0.0, n, 0.5, "sum")) * n == pytest.approx(expected + math.log(2), rel=1e-6)
    assert epsilon(1.0, 38, 0.01, "sum") < epsilon(1.0, 38, 0.01, "maurer")


def _kl(q: float, p: float) -> float:
    return sum(a * math.log(a / b) for a, b in ((q, p), (1 - q, 1 - p)) if a)


def test_the_prior_of_some_samples_is_nearer_than_none() -> None:
    classifier, y = fitted(60, 4)
    x, _ = sample(60, 4)
    some, fewest = np.arange(60) < 20, np.arange(60) < 1
    near, far = (compare_with_data_prior(classifier, x, y, part, 10) for part in (some, fewest))
    assert (near.tested, near.prior, far.tested) == (40, 20, 59)
    assert near.kl < 0.7 * far.kl
    assert near.same_tree
    assert near.price == pytest.approx(-math.log(0.9))
    assert far.price == pytest.approx(math.log(10) + log_trees(4) + log_class_sets(4, 10))
    bound = bound_data_prior(near, 0.01)
    spent = near.kl + near.price + float(epsilon(0.0, 40, 0.005, "sum")) * 40
    for risk in (bound.sign, bound.soft):
        assert 40 * _kl(risk.empirical, risk.bound) == pytest.approx(spent, rel=1e-6)
    assert (bound.vote, bound.deployed) == (min(1.0, 2 * bound.soft.bound), 1.0)


def test_groups_count() -> None:
    classifier, y = fitted(60, 2)
    x, _ = sample(60, 2)
    groups = np.arange(60) // 3
    made = compare_with_data_prior(classifier, x, y, groups < 5, 4, groups=groups)
    assert (made.tested, made.prior) == (15, 5)
    assert disagreement(classifier, x, groups)[1] == 20
    with pytest.raises(DataError, match="every group to one"):
        compare_with_data_prior(classifier, x, y, np.arange(60) < 16, 4, groups=groups)


def test_mistakes() -> None:
    classifier, y = fitted(40, 2)
    x, _ = sample(40, 2)
    half = np.arange(40) < 20
    with pytest.raises(DataError, match="0 and 40 groups"):
        compare_with_data_prior(classifier, x, y, half & ~half, 4)
    with pytest.raises(DataError, match="a class that the classifier does not have"):
        compare_with_data_prior(classifier, x, y + 1, half, 4)
    with pytest.raises(ConfigError, match="delta"):
        bound_data_prior(compare_with_data_prior(classifier, x, y, half, 4), 1.5)


def test_the_study_s_bounds_are_the_product_s() -> None:
    outcome = simulate(POPULATIONS[2], 40, draws=8, seed=3)
    for delta in (0.05, 0.01):
        pairs = zip(outcome.made, outcome.apart, strict=True)
        found = [bound_data_prior(made, delta, apart) for made, apart in pairs]
        expected = [[each.sign.bound, each.soft.bound, each.vote, each.deployed] for each in found]
        assert outcome.bounds(delta) == pytest.approx(np.array(expected), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("head", ["none", "wrong"])
@pytest.mark.parametrize("population", POPULATIONS, ids=lambda population: population.name)
def test_no_more_violations_than_delta(population: Population, head: str) -> None:
    assert simulate(population, 40, draws=200, seed=11, head=head).excess() == []


def test_a_prior_that_knows_the_tested_samples_is_seen() -> None:
    rng = np.random.default_rng(4)
    noise = Population("noise", rng.normal(size=(300, 60)), np.full(300, 1 / 300), np.full((300, 2), 0.5))
    outcome = simulate(noise, 40, draws=30, seed=2)
    assert outcome.excess() == []
    cheap = [DataPrior(made.empirical, 0.0, 0.0, *made[3:]) for made in outcome.made]
    free = Outcome(cheap, outcome.apart, outcome.true)
    assert free.violations(0.05) > 20
    assert "delta 0.05" in free.excess()[0]


def test_the_deployed_classifier_is_compared_with_the_vote() -> None:
    classifier, y = fitted(40, 2)
    x, _ = sample(40, 2)
    made = compare_with_data_prior(classifier, x, y, np.arange(40) < 10, 4)
    apart = disagreement(classifier, sample(300, 2, seed=8)[0])
    assert apart[1] == 300
    bound = bound_data_prior(made, 0.05, apart)
    assert bound.disagreement is not None
    assert bound.deployed == min(1.0, bound.vote + bound.disagreement.bound)
    assert bound.sign.bound > bound_data_prior(made, 0.05).sign.bound  # a part of delta is spent on the inputs
