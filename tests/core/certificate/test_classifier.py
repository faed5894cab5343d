"""Certificates of classifiers: what they say, who is refused, how often they are wrong."""

import json
import math
from typing import Any

import numpy as np
import pytest
import torch

from experiments.certificate_validity import DELTAS, TASKS, simulate
from pfedgp_core.certificate.classifier import NoCertificateError, certify_classifier
from pfedgp_core.certificate.node_posterior import exact_gp
from pfedgp_core.certificate.pac_bayes import conditional_kl
from pfedgp_core.certificate.risk import class_probabilities
from pfedgp_core.certificate.theorem import certify_tree
from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.errors import DataError, NonFiniteError
from pfedgp_core.gp.full import FullGP
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.classifier import PersonalClassifier
from tests.certified import DENSE, fitted, parts, sample


def test_certificate_of_a_classifier() -> None:
    classifier, y = fitted(80, 3)
    certificate = certify_classifier(classifier, y, 10, 0.05)
    found = json.loads(json.dumps(certificate.to_dict(), allow_nan=False))
    assert found["classes"] == [0, 1, 2]
    assert found["n"] == 80
    assert found["gibbs"]["bound"] < found["wrong_probability"]["bound"]
    assert found["deployed"]["bound"] == min(1.0, 2 * found["wrong_probability"]["bound"])
    assert found["deployed"]["empirical"] == pytest.approx((classifier.predict(sample(80, 3)[0]) != y).mean())
    assert 0 <= found["kl_convex"] - found["kl"] <= 2 * math.log(8)
    assert found["deployed"]["differs_from_predict"] == 0.0
    assert found["not_a_bound"]["printed"] == pytest.approx(
        found["gibbs"]["empirical"] + found["not_a_bound"]["inverse"]
    )
    assert certify_classifier(classifier, y, 10, 0.05).to_dict() == certificate.to_dict()
    free = certify_classifier(classifier, y, 10, 0.05, fixed_classes=[2, 0, 1])
    assert free.tree.price_classes == 0.0
    assert free.tree.soft.bound < certificate.tree.soft.bound


def test_fitc_is_certified_with_its_own_prior() -> None:
    x, y = sample(60, 2)
    inducing = torch.from_numpy(np.stack([sample(20, 2, seed=s)[0] for s in (5, 6)]))
    settings = Settings(variant="ip-compute", gp=GPSettings(predict_chains=4))
    classifier = PersonalClassifier(settings, Stream(3, "test"), inducing).fit(x, y)
    certificate = certify_classifier(classifier, y, 2, 0.05)
    known, omega = classifier.nodes_[0]
    covariance = exact_gp(known.gp).gram
    kappa = known.gp.kappa.double()
    assert certificate.tree.kl_convex == pytest.approx(float(conditional_kl(covariance, omega, kappa).mean()), rel=1e-9)
    assert certificate.tree.sign.bound < 0.6


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"variant": "ip-data"}, "class-ratio"),
        ({"variant": "ip-compute", "classes": "all"}, "stand in"),
    ],
)
def test_variants_without_a_proof_are_refused(change: dict[str, Any], reason: str) -> None:
    inducing = torch.from_numpy(np.stack([sample(8, 2, seed=s)[0] for s in (5, 6)]))
    classifier, y = fitted(40, 2, DENSE.replace(**change), inducing=inducing)
    with pytest.raises(NoCertificateError, match=reason):
        certify_classifier(classifier, y, 2)


def test_refusals() -> None:
    few, y = fitted(29, 2)
    with pytest.raises(NoCertificateError, match="29 samples are too few"):
        certify_classifier(few, y, 10)
    single = PersonalClassifier(DENSE).fit(sample(40, 2)[0], np.zeros(40, int))
    with pytest.raises(NoCertificateError, match="one class 0"):
        certify_classifier(single, np.zeros(40, int), 10)
    classifier, y = fitted(60, 4)
    with pytest.raises(NoCertificateError, match="fixed in advance"):
        certify_classifier(classifier, y, 10, fixed_classes=[0, 1, 2])
    with pytest.raises(DataError, match="call fit first"):
        certify_classifier(PersonalClassifier(DENSE), y, 10)
    with pytest.raises(DataError, match="does not have"):
        certify_classifier(classifier, np.r_[y[:-1], 9], 10)


def test_labels_of_other_samples_are_noticed() -> None:
    classifier, y = fitted(60, 4)
    with pytest.raises(DataError, match="samples"):
        certify_classifier(classifier, y[:-5], 10)
    with pytest.raises(DataError, match="do not fit"):
        certify_classifier(classifier, np.random.default_rng(0).permutation(y), 10)


def test_a_posterior_that_is_not_finite_gives_no_certificate() -> None:
    classifier, y = fitted(40, 2)
    tree, ((gp, omega),), labels = parts(classifier, y)
    broken = omega.clone()
    broken[0, 0] = math.nan
    with pytest.raises(NonFiniteError):
        certify_tree(tree, [(gp, broken)], labels, 10)


def test_certificate_does_not_depend_on_the_solver_of_the_classifier() -> None:
    classifier, y = fitted(120, 2, Settings(gp=GPSettings(predict_chains=4)))
    known, omega = classifier.nodes_[0]
    assert known.gp.iterative
    dense = FullGP(known.gp.kernel, known.gp.inputs.double(), known.gp.kappa > 0, known.gp.jitter, solver="dense")
    tree, nodes, labels = parts(classifier, y)
    a, b = (certify_tree(tree, [(gp, omega)], labels, 10) for gp in (nodes[0][0], dense))
    assert a.soft.bound == b.soft.bound
    new = unit_sphere(torch.from_numpy(sample(50, 2, seed=4)[0]))
    assert (class_probabilities(classifier, new).soft.argmax(1) == classifier.predict(new)).all()


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS[:3], ids=lambda task: task.name)
def test_no_more_violations_than_delta(task: Any) -> None:
    draws = 100
    outcome = simulate(task, 60, draws, chains=5, test_points=300, seed=7)
    for delta in DELTAS:
        assert outcome.violations(delta) <= delta + 3 * math.sqrt(delta * (1 - delta) / draws)
    bounds = np.array(outcome.bounds[0.05])
    if task.noise:
        assert (bounds >= 0.5).all()
        assert (np.array(outcome.bounds[0.01]) >= 0.5).all()
    if not task.noise and not task.flip:
        assert bounds[:, 0].mean() < 0.5


@pytest.mark.slow
def test_features_that_memorised_the_sample_are_why_a_participant_is_refused() -> None:
    outcome = simulate(TASKS[-1], 60, 10, chains=5, test_points=10, seed=7)
    assert TASKS[-1].memorised
    assert outcome.violations(0.05) == 1.0
