"""The theorem's terms against quadrature, drawing and brute force."""

import itertools
import json
import math

import numpy as np
import pytest
import torch
from scipy import integrate, stats
from scipy.special import expit

from pfedgp_core.certificate.binomial_bound import clopper_pearson
from pfedgp_core.certificate.held_out import certify_held_out
from pfedgp_core.certificate.mixture_information import information_lower_bound
from pfedgp_core.certificate.node_posterior import exact_gp, node_posterior
from pfedgp_core.certificate.pac_bayes import conditional_kl, gibbs_errors, mixture_kl, pac_bayes_bound
from pfedgp_core.certificate.risk import class_probabilities, node_rows, path_probabilities, sides
from pfedgp_core.certificate.theorem import bound_tree, certify_tree, tree_posterior
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.gp.full import FullGP
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.splits import Node, Tree
from tests.certified import fitted, parts, sample


def test_node_terms_agree_with_those_of_a_single_node() -> None:
    classifier, _ = fitted(50, 2)
    known, omega = classifier.nodes_[0]
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


def check_kl(gp: FullGP, prior_mean: np.ndarray, reach: float) -> None:
    """The certified KL of two points and three chains holds that of the mixture, a sum on a grid up to `reach`."""
    omega = torch.tensor([[0.05, 0.2], [0.24, 0.02], [0.15, 0.15]], dtype=torch.float64)
    mean, covariance = gp.posterior(omega)
    density = [stats.multivariate_normal(m.numpy(), S.numpy()).pdf for m, S in zip(mean, covariance, strict=True)]
    prior = stats.multivariate_normal(prior_mean, gp.gram.numpy()).pdf
    grid = np.linspace(-reach, reach, 1201)
    points = np.stack(np.meshgrid(grid, grid), -1)
    q = sum(p(points) for p in density) / 3
    terms = np.where(q > 1e-300, q * (np.log(np.maximum(q, 1e-300)) - np.log(np.maximum(prior(points), 1e-300))), 0.0)
    exact = terms.sum() * (grid[1] - grid[0]) ** 2
    tree = Tree((0, 1), (Node(0, (0,), (1,)),))
    posterior = tree_posterior(tree, [(gp, omega)], torch.tensor([0, 1]), draws=200_000)
    assert float((-posterior.excess).exp().mean()) == pytest.approx(1.0, abs=0.01)  # the lower bound rests on this
    certificate = bound_tree(posterior, None, 0.05)
    assert exact <= certificate.kl <= exact + 0.02 < certificate.kl_convex


def test_kl_covers_that_of_the_mixture_by_quadrature() -> None:
    x = torch.tensor([[1.0, 0.0], [0.8, 0.6]], dtype=torch.float64)
    check_kl(FullGP(make_kernel("rbf", 8.0, 1.0), x, torch.tensor([1, 0]), 1e-3), np.zeros(2), 14)


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


@pytest.mark.slow
def test_path_probabilities_agree_with_drawing_the_tree() -> None:
    classifier, y = fitted(40, 4)
    tree, nodes, labels = parts(classifier, y)
    rng = np.random.default_rng(0)
    reached = np.ones((4000, len(y)), dtype=bool)
    node_sides = []
    for node, (gp, omega) in zip(tree.nodes, nodes, strict=True):
        mean, covariance = exact_gp(gp).posterior(omega.double())
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
    (known, omega), = classifier.nodes_  # fmt: skip
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
