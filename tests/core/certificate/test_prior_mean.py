"""Certificates about a shared head: against inverses and quadrature, without one to the bit, and how often wrong."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.special import expit, logsumexp
from torch import Tensor

from experiments.certificate_validity import DELTAS, TASKS, simulate
from pfedgp_core.certificate.classifier import certify_classifier
from pfedgp_core.certificate.data_prior import compare_with_data_prior
from pfedgp_core.certificate.gaussian_moments import gaussian_kl, matched_gaussian
from pfedgp_core.certificate.node_posterior import exact_gp
from pfedgp_core.certificate.risk import class_probabilities
from pfedgp_core.certificate.theorem import tree_posterior
from pfedgp_core.errors import DataError
from pfedgp_core.gp.full import FullGP
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.tree.classifier import PersonalClassifier
from pfedgp_core.tree.splits import Node
from pfedgp_core.tree.variants.prior_mean import LogitsOf
from tests.certified import DENSE, fitted, parts, sample
from tests.core.certificate.test_theorem import check_kl

SCALE, JITTER = DENSE.gp.output_scale, DENSE.gp.jitter


def head(k: int, seed: int = 1) -> LogitsOf:
    weight = torch.from_numpy(3.0 * np.random.default_rng(seed).normal(size=(6, k)))
    return lambda features: (features.double() @ weight).to(features)


def about_a_head(n: int, k: int) -> tuple[PersonalClassifier, np.ndarray, np.ndarray]:
    classifier, y = fitted(n, k, logits_of=head(k))
    return classifier, sample(n, k)[0], y


def covariance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    a, b = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (a, b))
    return SCALE * np.exp(-0.5 * ((a[:, None] - b[None]) ** 2).sum(-1))


class ByInverses:
    """Q of one node in the textbook's form: (K^-1 + Omega)^-1, KL of two Gaussians by their densities' formula."""

    def __init__(self, x: np.ndarray, y: np.ndarray, node: Node, omega: Tensor, logits_of: LogitsOf) -> None:
        left, right = (np.flatnonzero(np.isin(y, side)) for side in (node.left, node.right))
        self.node, self.rows, self.logits_of = node, np.r_[left, right], logits_of
        self.x = x[self.rows].astype(float)
        self.K = covariance(self.x, self.x) + JITTER * np.eye(len(self.rows))
        self.m = self.odds(self.x)
        kappa = np.r_[np.full(len(left), 0.5), np.full(len(right), -0.5)]
        self.inverse = np.linalg.inv(self.K)
        self.chains = []
        for weights in omega.double().numpy():
            S = np.linalg.inv(self.inverse + np.diag(weights))
            self.chains.append((S @ (self.inverse @ self.m + kappa), S))

    def odds(self, x: np.ndarray) -> np.ndarray:
        logits = self.logits_of(torch.from_numpy(x.astype(np.float32))).double().numpy()
        left, right = (logsumexp(logits[:, list(side)], axis=1) for side in (self.node.left, self.node.right))
        return left - right

    def kl(self) -> float:
        return float(np.mean([gaussian(mean - self.m, S, self.inverse, self.K) for mean, S in self.chains]))

    def at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means and variances [C, T] of f at new points."""
        cross = covariance(self.x, x)
        A = self.inverse @ cross
        means = [self.odds(x) + A.T @ (mean - self.m) for mean, _ in self.chains]
        base = SCALE + JITTER - (cross * A).sum(0)
        return np.stack(means), np.stack([base + (A * (S @ A)).sum(0) for _, S in self.chains])

    def left(self, mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities of the left side, sign and soft, from moments [C, T]."""
        z = np.linspace(-9, 9, 2001)
        soft = expit(mean[..., None] + np.sqrt(variance)[..., None] * z) @ stats.norm.pdf(z) * (z[1] - z[0])
        return stats.norm.cdf(mean / np.sqrt(variance)).mean(0), soft.mean(0)


def gaussian(apart: np.ndarray, S: np.ndarray, inverse: np.ndarray, K: np.ndarray) -> float:
    log_det = np.linalg.slogdet(K)[1] - np.linalg.slogdet(S)[1]
    return 0.5 * float(np.trace(inverse @ S) - len(S) + apart @ inverse @ apart + log_det)


def test_every_term_agrees_with_inverses_and_quadrature() -> None:
    classifier, x, y = about_a_head(40, 4)
    nodes = [
        ByInverses(x, y, node, omega, head(4))
        for node, omega in zip(classifier.tree_.nodes, classifier.omegas_, strict=True)
    ]
    found = tree_posterior(*parts(classifier, y), draws=0)
    assert found.kl_convex == pytest.approx(sum(node.kl() for node in nodes), rel=1e-5)
    right, new = np.ones((2, len(y))), sample(30, 4, seed=5)[0]
    every = np.ones((2, len(new), 4))
    for node in nodes:
        moments = (np.stack([m for m, _ in node.chains]), np.stack([S.diagonal() for _, S in node.chains]))
        on_left = np.isin(y[node.rows], node.node.left)
        for own, classes, own_left, left in zip(
            right, every, node.left(*moments), node.left(*node.at(new)), strict=True
        ):
            own[node.rows] *= np.where(on_left, own_left, 1 - own_left)
            classes[:, list(node.node.left)] *= left[:, None]
            classes[:, list(node.node.right)] *= 1 - left[:, None]
    assert found.empirical == pytest.approx(tuple(1 - right.mean(1)), abs=1e-5)
    for own, theirs in zip(class_probabilities(classifier, new), every, strict=True):
        np.testing.assert_allclose(own, theirs, atol=2e-5)
    without_mean = tree_posterior(*parts(fitted(40, 4)[0], y), draws=0)
    assert abs(without_mean.kl_convex - found.kl_convex) > 0.5


def test_the_covered_vote_is_the_deployed_answer() -> None:
    classifier, x, y = about_a_head(60, 3)
    new = sample(200, 3, seed=9)[0]
    np.testing.assert_allclose(class_probabilities(classifier, new).soft, classifier.predict_proba(new), atol=5e-5)
    found = certify_classifier(classifier, y, 5, 0.05, features=x).to_dict()
    assert found["deployed"]["empirical"] == pytest.approx((classifier.predict(x) != y).mean())
    assert found["deployed"]["differs_from_predict"] == 0.0


def test_kl_covers_that_of_the_mixture_about_a_mean_by_quadrature() -> None:
    x, m = torch.tensor([[1.0, 0.0], [0.8, 0.6]], dtype=torch.float64), torch.tensor([1.5, -1.0]).double()
    check_kl(FullGP(make_kernel("rbf", 8.0, 1.0), x, torch.tensor([1, 0]), 1e-3, mean=m), m.numpy(), 16)


def test_the_gaussians_of_a_data_prior_are_about_the_mean() -> None:
    classifier, x, y = about_a_head(30, 2)
    gp, omega = exact_gp(classifier.nodes_[0][0].gp), classifier.omegas_[0].double()
    node = ByInverses(x, y, classifier.tree_.nodes[0], omega, head(2))
    q = matched_gaussian(gp, omega, torch.arange(30))
    means = np.stack([mean for mean, _ in node.chains])
    S = np.mean([each for _, each in node.chains], 0) + np.cov(means.T, bias=True)
    np.testing.assert_allclose(q.mean, means.mean(0), atol=1e-4)
    np.testing.assert_allclose(q.covariance, S, atol=1e-4)
    nothing = matched_gaussian(gp, omega[:, :0], torch.arange(0))
    np.testing.assert_allclose(nothing.mean, node.m, atol=1e-4)
    assert gaussian_kl(q, nothing) == pytest.approx(gaussian(means.mean(0) - node.m, S, node.inverse, node.K), rel=1e-4)


def test_a_head_of_zeros_changes_no_bit_of_a_certificate() -> None:
    x, y = sample(60, 2)
    zeros, without = fitted(60, 2, logits_of=lambda features: features[:, :2] * 0)[0], fitted(60, 2)[0]
    assert all(torch.equal(a, b) for a, b in zip(zeros.omegas_, without.omegas_, strict=True))
    found, expected = (certify_classifier(each, y, 10, 0.05, features=x).to_dict() for each in (zeros, without))
    assert found == expected
    part = np.arange(60) < 15
    assert compare_with_data_prior(zeros, x, y, part, 10) == compare_with_data_prior(without, x, y, part, 10)


def test_a_head_that_is_right_costs_fewer_nats_and_has_the_smaller_bound() -> None:
    x, y = sample(60, 3)
    right = fitted(60, 3, logits_of=lambda features: 6.0 * features[:, :3])[0]
    without = fitted(60, 3)[0]
    found, plain = (certify_classifier(each, y, 10, 0.05, features=x).tree for each in (right, without))
    assert found.kl < plain.kl - 4
    assert found.soft.bound < plain.soft.bound - 0.05


def test_the_samples_features_are_asked_for_and_checked() -> None:
    classifier, x, y = about_a_head(40, 2)
    with pytest.raises(DataError, match="give them as well"):
        certify_classifier(classifier, y, 10)
    with pytest.raises(DataError, match="not those that the classifier was fitted on"):
        certify_classifier(classifier, y, 10, features=x[::-1].copy())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["right", "wrong", "random"])
@pytest.mark.parametrize("task", TASKS[1:3], ids=lambda task: task.name)
def test_no_more_violations_than_delta(task: Any, kind: str) -> None:
    draws = 60
    outcome = simulate(task, 40, draws, chains=5, test_points=300, seed=7, head=kind)
    for delta in DELTAS:
        assert outcome.violations(delta) <= delta + 3 * math.sqrt(delta * (1 - delta) / draws)


def test_a_head_that_memorised_the_sample_is_why_a_participant_is_refused() -> None:
    outcome = simulate(TASKS[-1], 40, 10, chains=5, test_points=10, seed=7, head="right")
    assert outcome.violations(0.05) == 1.0
