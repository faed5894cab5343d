"""The certificate of a whole tree: each part against an independent computation, refusals, and validity."""

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy import integrate, stats
from scipy.special import expit

from experiments.certificate_validity import DELTAS, TASKS, simulate
from pfedgp_core.certificate.binomial_bound import clopper_pearson
from pfedgp_core.certificate.classifier import NoCertificateError, certify_classifier
from pfedgp_core.certificate.held_out import certify_held_out
from pfedgp_core.certificate.mixture_information import information_lower_bound
from pfedgp_core.certificate.node_posterior import exact_gp, node_posterior
from pfedgp_core.certificate.pac_bayes import conditional_kl, gibbs_errors, mixture_kl, pac_bayes_bound
from pfedgp_core.certificate.prior_price import log_class_sets, log_trees
from pfedgp_core.certificate.risk import class_probabilities, node_rows, path_probabilities, sides
from pfedgp_core.certificate.theorem import bound_tree, certify_tree, tree_posterior
from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.errors import ConfigError, DataError, NonFiniteError
from pfedgp_core.gp.full import FullGP
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.classifier import PersonalClassifier
from pfedgp_core.tree.splits import Node, Tree

DENSE = Settings(gp=GPSettings(predict_chains=8, solver="dense"))


def sample(n: int, k: int, seed: int = 0, spread: float = 0.25) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(k), rng.integers(0, k, n - k)]
    return (np.eye(6)[y] + spread * rng.normal(size=(n, 6))).astype(np.float32), y


def fitted(n: int, k: int, settings: Settings = DENSE, **options: Any) -> tuple[PersonalClassifier, np.ndarray]:
    x, y = sample(n, k)
    return PersonalClassifier(settings, Stream(3, "test"), **options).fit(x, y), y


def parts(classifier: PersonalClassifier, y: np.ndarray) -> tuple[Tree, list, torch.Tensor]:
    nodes = [(known.gp, omega) for known, omega in classifier._nodes]
    return classifier.tree_, nodes, torch.from_numpy(np.searchsorted(classifier.classes_, y))


# What is computed


def test_node_terms_agree_with_those_of_a_single_node() -> None:
    classifier, _ = fitted(50, 2)
    known, omega = classifier._nodes[0]
    gp = exact_gp(known.gp)
    posterior = node_posterior(gp, omega, 4000, Stream(0, "t"))
    torch.testing.assert_close(posterior.kl, conditional_kl(gp.gram, omega, gp.kappa), rtol=1e-10, atol=1e-10)
    z = posterior.mean / posterior.variance.sqrt()
    errors = torch.special.ndtr(-2 * gp.kappa * z)
    torch.testing.assert_close(errors, gibbs_errors(gp.gram, omega, gp.kappa), rtol=1e-8, atol=1e-12)
    reference = mixture_kl(gp.gram, omega, gp.kappa, Stream(1, "t"), draws=500)
    information = reference.upper - reference.estimate.value
    error = float(posterior.excess.std()) / math.sqrt(4000) + reference.estimate.standard_error
    assert float(posterior.excess.mean()) == pytest.approx(information, abs=4 * error)


def test_kl_covers_that_of_the_mixture_by_quadrature() -> None:
    x = torch.tensor([[1.0, 0.0], [0.8, 0.6]], dtype=torch.float64)
    gp = FullGP(make_kernel("rbf", 8.0, 1.0), x, torch.tensor([1, 0]), 1e-3)
    omega = torch.tensor([[0.05, 0.2], [0.24, 0.02], [0.15, 0.15]], dtype=torch.float64)
    mean, covariance = gp.posterior(omega)
    density = [stats.multivariate_normal(m.numpy(), S.numpy()).pdf for m, S in zip(mean, covariance, strict=True)]
    prior = stats.multivariate_normal(np.zeros(2), gp.gram.numpy()).pdf
    grid = np.linspace(-14, 14, 1201)
    points = np.stack(np.meshgrid(grid, grid), -1)
    q = sum(p(points) for p in density) / 3
    terms = np.where(q > 1e-300, q * (np.log(np.maximum(q, 1e-300)) - np.log(np.maximum(prior(points), 1e-300))), 0.0)
    exact = terms.sum() * (grid[1] - grid[0]) ** 2
    tree = Tree((0, 1), (Node(0, (0,), (1,)),))
    posterior = tree_posterior(tree, [(gp, omega)], torch.tensor([0, 1]), draws=200_000)
    assert float((-posterior.excess).exp().mean()) == pytest.approx(1.0, abs=0.01)  # the lower bound rests on this
    certificate = bound_tree(posterior, None, 0.05)
    assert exact <= certificate.kl <= exact + 0.02 < certificate.kl_convex


@pytest.mark.parametrize("deviation", [0.03, 1.0, 2.8, 30.0])
def test_sides_by_quadrature(deviation: float) -> None:
    means = np.array([-40.0, -3.0, 0.0, 0.4, 9.0])
    found = sides(torch.tensor(means)[None], torch.full((1, 5), deviation**2, dtype=torch.float64))
    for mean, left, right in zip(means, found.left[1].tolist(), found.right[1].tolist(), strict=True):
        for value, sign in ((left, 1), (right, -1)):
            exact, _ = integrate.quad(
                lambda z, s=sign, m=mean: expit(s * (m + deviation * z)) * stats.norm.pdf(z), -9, 9,
                points=[float(np.clip(-mean / deviation, -8.9, 8.9))], epsabs=1e-13, limit=500,
            )  # fmt: skip
            assert value == pytest.approx(exact, abs=1e-11)
    np.testing.assert_allclose(found.left[0], stats.norm.cdf(means / deviation), atol=1e-15)
    np.testing.assert_allclose(found.left + found.right, 1.0, atol=1e-13)


def test_path_probabilities_agree_with_drawing_the_tree() -> None:
    classifier, y = fitted(40, 4)
    tree, nodes, labels = parts(classifier, y)
    rng = np.random.default_rng(0)
    reached = np.ones((4000, len(y)), dtype=bool)
    node_sides = []
    for node, (gp, omega) in zip(tree.nodes, nodes, strict=True):
        gp = exact_gp(gp)
        mean, covariance = gp.posterior(omega.double())
        node_sides.append(sides(mean, covariance.diagonal(dim1=1, dim2=2)))
        chains = rng.integers(0, len(omega), 4000)
        f = np.stack([mean[c] for c in chains]) + np.stack(
            [torch.linalg.cholesky(covariance[c]) @ torch.from_numpy(rng.normal(size=len(gp.kappa))) for c in chains]
        )
        reached[:, node_rows(labels, node)] &= (f > 0) == (gp.kappa > 0).numpy()
    found = path_probabilities(tree, labels, node_sides)
    np.testing.assert_allclose(found[0], reached.mean(0), atol=0.04)
    posterior = tree_posterior(tree, nodes, labels)
    assert posterior.empirical[0] == pytest.approx(1 - reached.mean(), abs=0.01)
    assert posterior.empirical[0] == pytest.approx(1 - float(found[0].mean()), abs=1e-9)


def test_class_probabilities_are_the_deployed_ones() -> None:
    classifier, _ = fitted(60, 4)
    new, _ = sample(200, 4, seed=9)
    sign, soft = class_probabilities(classifier, new)
    np.testing.assert_allclose(soft, classifier.predict_proba(new), atol=5e-5)
    for p in (sign, soft):
        np.testing.assert_allclose(p.sum(1), 1.0, atol=1e-12)


def test_binary_case_by_hand() -> None:
    classifier, y = fitted(60, 2)
    (known, omega), = classifier._nodes  # fmt: skip
    gp = exact_gp(known.gp)
    certificate = certify_tree(*parts(classifier, y), None, 0.02, draws=0)
    risk, kl = (
        float(gibbs_errors(gp.gram, omega, gp.kappa).mean()),
        float(conditional_kl(gp.gram, omega, gp.kappa).mean()),
    )
    assert certificate.sign.bound == pytest.approx(float(pac_bayes_bound(risk, kl, 60, 0.01, "maurer")), abs=1e-7)
    assert certificate.sign.bound >= float(pac_bayes_bound(risk, kl, 60, 0.01, "maurer"))
    assert certificate.sign_vote == pytest.approx(2 * certificate.sign.bound)
    assert (certificate.price_tree, certificate.price_classes, certificate.information) == (0.0, 0.0, 0.0)


def test_naming_the_children_otherwise_changes_nothing() -> None:
    classifier, y = fitted(60, 2)
    tree, ((gp, omega),), labels = parts(classifier, y)
    left = int((gp.kappa > 0).sum())
    order = torch.cat([torch.arange(left, len(y)), torch.arange(left)])
    turned = FullGP(gp.kernel, gp.inputs[order], gp.kappa[order] < 0, gp.jitter)
    other = Tree(tree.classes, (Node(0, tree.nodes[0].right, tree.nodes[0].left),))
    a = certify_tree(tree, [(gp, omega)], labels, 10, draws=0)
    b = certify_tree(other, [(turned, omega[:, order])], labels, 10, draws=0)
    assert (a.sign.bound, a.soft.bound) == pytest.approx((b.sign.bound, b.soft.bound), abs=1e-9)


# What is paid


def trees(leaves: tuple[int, ...]) -> set[Any]:
    """All binary trees with unordered children, by brute force."""
    if len(leaves) == 1:
        return {leaves[0]}
    rest = leaves[1:]
    found = set()
    for size in range(len(rest)):
        for others in itertools.combinations(rest, size):
            right = tuple(c for c in rest if c not in others)
            found |= {frozenset([a, b]) for a in trees((leaves[0], *others)) for b in trees(right)}
    return found


@pytest.mark.parametrize("k", [2, 3, 4, 5, 6])
def test_price_of_a_tree_is_the_number_of_trees(k: int) -> None:
    assert log_trees(k) == pytest.approx(math.log(len(trees(tuple(range(k))))), abs=1e-12)


@pytest.mark.parametrize("federation", [2, 3, 10])
def test_class_sets_have_total_probability_one(federation: int) -> None:
    total = sum(math.comb(federation, k) * math.exp(-log_class_sets(k, federation)) for k in range(2, federation + 1))
    assert total == pytest.approx(1.0)


def test_prices_enter_the_bound() -> None:
    posterior = tree_posterior(*parts(*fitted(60, 4)))
    paid, fixed_classes, nothing = (
        bound_tree(posterior, 10, 0.05), bound_tree(posterior, None, 0.05), bound_tree(posterior, None, 0.05, True)
    )  # fmt: skip
    assert paid.sign.bound > fixed_classes.sign.bound > nothing.sign.bound
    assert paid.price_tree == pytest.approx(math.log(15)) and nothing.price_tree == 0.0
    assert paid.price_classes == pytest.approx(math.log(9 * 210))
    with pytest.raises(ConfigError, match="4 classes out of 3"):
        bound_tree(posterior, 3)
    with pytest.raises(ConfigError, match="is not between 0 and 1"):
        bound_tree(posterior, 10, 1.5)


def test_information_bound_holds_as_often_as_it_says() -> None:
    # Two overlapping components on a line: the information is known by quadrature.
    rng = np.random.default_rng(0)
    grid = np.linspace(-12, 12, 40001)
    component = [stats.norm.pdf(grid, centre, 1.0) for centre in (0.0, 1.5)]
    mixture = (component[0] + component[1]) / 2
    exact = sum(0.5 * (p * np.log(p / mixture)).sum() * (grid[1] - grid[0]) for p in component)
    centre = np.array([0.0, 1.5])[rng.integers(0, 2, (1000, 400))]
    f = rng.normal(centre)
    q = (stats.norm.pdf(f, 0.0) + stats.norm.pdf(f, 1.5)) / 2
    excess = torch.from_numpy(np.log(stats.norm.pdf(f, centre) / q))
    bounds = np.array([information_lower_bound(row, math.log(2), 0.3) for row in excess])
    assert (bounds > exact).mean() <= 0.3
    assert bounds.mean() > 0
    assert information_lower_bound(excess.flatten(), math.log(2), 0.01) == pytest.approx(exact, abs=0.01)
    assert information_lower_bound(torch.tensor([1.0]), 3.0, 0.1) == 0.0
    assert information_lower_bound(torch.tensor([math.nan] * 50), 3.0, 0.1) == 0.0


def test_held_out_bound_is_the_exact_binomial_one() -> None:
    for errors, n, delta in itertools.product((0, 1, 7), (8, 50), (0.05, 0.01)):
        p = clopper_pearson(errors, n, delta)
        assert stats.binom.cdf(errors, n, p) == pytest.approx(delta, rel=1e-6)
        assert stats.binom.cdf(errors, n, p) <= delta
    assert clopper_pearson(5, 5, 0.01) == 1.0
    assert clopper_pearson(0, 100, 0.01) == pytest.approx(1 - 0.01 ** (1 / 100))
    for p in (0.02, 0.3):  # coverage, exactly
        law = stats.binom.pmf(np.arange(31), 30, p)
        assert sum(w for e, w in enumerate(law) if clopper_pearson(e, 30, 0.05) < p) <= 0.05
    certificate = certify_held_out(np.array(["a", "b", "a"]), np.array(["a", "b", "unseen"]), 0.1)
    assert (certificate.errors, certificate.n) == (1, 3)
    assert json.loads(json.dumps(certificate.to_dict()))["deployed"]["bound"] == certificate.bound
    for bad in ((-1, 5), (6, 5), (0, 0)):
        with pytest.raises(ConfigError, match="no error rate"):
            clopper_pearson(*bad, 0.01)
    with pytest.raises(DataError):
        certify_held_out(np.array([1, 2]), np.array([1]))


# Classifiers


def test_certificate_of_a_classifier() -> None:
    classifier, y = fitted(80, 3)
    certificate = certify_classifier(classifier, y, 10, 0.05)
    found = json.loads(json.dumps(certificate.to_dict(), allow_nan=False))
    assert found["classes"] == [0, 1, 2] and found["n"] == 80
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
    assert free.tree.price_classes == 0.0 and free.tree.soft.bound < certificate.tree.soft.bound


def test_fitc_is_certified_with_its_own_prior() -> None:
    x, y = sample(60, 2)
    inducing = torch.from_numpy(np.stack([sample(20, 2, seed=s)[0] for s in (5, 6)]))
    settings = Settings(variant="ip-compute", gp=GPSettings(predict_chains=4))
    classifier = PersonalClassifier(settings, Stream(3, "test"), inducing).fit(x, y)
    certificate = certify_classifier(classifier, y, 2, 0.05)
    known, omega = classifier._nodes[0]
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
    known, omega = classifier._nodes[0]
    assert known.gp.iterative
    dense = FullGP(known.gp.kernel, known.gp.inputs.double(), known.gp.kappa > 0, known.gp.jitter, solver="dense")
    tree, nodes, labels = parts(classifier, y)
    a, b = (certify_tree(tree, [(gp, omega)], labels, 10) for gp in (nodes[0][0], dense))
    assert a.soft.bound == b.soft.bound
    new = unit_sphere(torch.from_numpy(sample(50, 2, seed=4)[0]))
    assert (class_probabilities(classifier, new).soft.argmax(1) == classifier.predict(new)).all()


# Validity


@pytest.mark.parametrize("task", TASKS[:3], ids=lambda task: task.name)
def test_no_more_violations_than_delta(task: Any) -> None:
    draws = 100
    outcome = simulate(task, 60, draws, chains=5, test_points=300, seed=7)
    for delta in DELTAS:
        assert outcome.violations(delta) <= delta + 3 * math.sqrt(delta * (1 - delta) / draws)
    bounds = np.array(outcome.bounds[0.05])
    if task.noise:
        assert (bounds >= 0.5).all() and (np.array(outcome.bounds[0.01]) >= 0.5).all()
    if not task.noise and not task.flip:
        assert bounds[:, 0].mean() < 0.5


def test_features_that_memorised_the_sample_are_why_a_participant_is_refused() -> None:
    outcome = simulate(TASKS[-1], 60, 10, chains=5, test_points=10, seed=7)
    assert TASKS[-1].memorised and outcome.violations(0.05) == 1.0
