"""Very many certificates at once are those of the product, one by one, where both have the same omega."""

from typing import Any

import numpy as np
import pytest
import torch

from experiments import padded_nodes
from experiments.data_prior_draws import certify_block
from experiments.data_prior_violations import SETTINGS
from experiments.hard_populations import POPULATIONS, Population, head_logits
from pfedgp_core.certificate.data_prior import compare_with_data_prior
from pfedgp_core.certificate.risk import class_probabilities
from pfedgp_core.gp.full import FullGP
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.classifier import PersonalClassifier
from pfedgp_core.tree.variants.prior_mean import LogitsOf

CHAINS = np.array([0.22, 0.1, 0.03, 0.16])  # of omega, one value a chain, which no sampler decides


def constant(chains: int, n: int) -> torch.Tensor:
    return torch.from_numpy(np.resize(CHAINS, chains))[:, None].expand(chains, n).clone()


@pytest.fixture
def same_omega(monkeypatch: pytest.MonkeyPatch) -> None:
    def padded(nodes: Any, known: torch.Tensor, chains: int, *rest: Any) -> torch.Tensor:
        return constant(chains, known.shape[1]) * known[:, None]

    monkeypatch.setattr(padded_nodes, "sample_omega", padded)
    monkeypatch.setattr(FullGP, "sample_omega", lambda self, chains, *rest: constant(chains, len(self.kappa)))


def lookup(population: Population, logits: np.ndarray | None) -> LogitsOf | None:
    points = torch.from_numpy(population.points)
    if logits is None:
        return None
    return lambda features: torch.from_numpy(logits)[torch.cdist(features, points).argmin(1)]


@pytest.mark.usefixtures("same_omega")
@pytest.mark.parametrize("kind", ["none", "random"])
@pytest.mark.parametrize("place", [0, 6, 7], ids=["two classes", "10 classes", "20 classes"])
def test_a_block_is_what_the_product_gives_one_by_one(place: int, kind: str) -> None:
    population = POPULATIONS[place]
    logits, x, k = head_logits(population.law, kind), population.points, population.law.shape[1]
    points, labels = population.sample(3, 40, np.random.default_rng(5))
    part, stream = np.arange(40) < 10, Stream(0, "test")
    found = certify_block(population, points, labels, part, SETTINGS, stream, 6, logits)
    for d, (rows, y) in enumerate(zip(points, labels, strict=True)):
        classifier = PersonalClassifier(SETTINGS, stream, logits_of=lookup(population, logits)).fit(x[rows], y)
        classifier.nodes_ = [(known, constant(4, len(known.gp.kappa))) for known, _ in classifier.nodes_]
        expected = compare_with_data_prior(classifier, x[rows], y, part, k, chains=6)
        np.testing.assert_allclose(np.hstack(found.made[d]), np.hstack(expected), rtol=1e-5, atol=1e-8)
        sign, soft = class_probabilities(classifier, x, one_gaussian=True)
        law = population.law[:, classifier.classes_]
        votes = classifier.classes_[soft.argmax(1)]
        np.testing.assert_array_equal(found.votes[d], votes)
        np.testing.assert_array_equal(found.answers[d], classifier.predict(x))
        risks = [1 - float(population.weights @ (law * p).sum(1)) for p in (sign, soft)]
        risks += [float(population.risk(each[None])[0]) for each in (votes, found.answers[d])]
        np.testing.assert_allclose(found.true[d], risks, atol=1e-6)


def test_omega_is_drawn_from_its_posterior() -> None:
    """Against the product's sampler: the mean of omega, which is tanh(f / 2) / (2 f) on average."""
    rng = np.random.default_rng(3)
    x, kappa, m = rng.normal(size=(6, 2)), np.array([0.5, 0.5, 0.5, -0.5, -0.5, -0.5]), 2 * rng.normal(size=6)
    kernel = PersonalClassifier(SETTINGS).kernel
    gp = FullGP(kernel, torch.from_numpy(x), torch.from_numpy(kappa > 0), 1e-3, mean=torch.from_numpy(m))
    padding = torch.eye(8, dtype=torch.float64)
    padding[:6, :6] = gp.gram
    two = [torch.from_numpy(np.r_[part, 0.0, 0.0]).expand(2, 8) for part in (kappa, m)]
    nodes = padded_nodes.PaddedNodes(padding.expand(2, 8, 8), *two)
    known = nodes.kappa != 0
    known[1, :3] = False  # the second node knows three labels
    omega = padded_nodes.sample_omega(nodes, known, 4000, 15, Stream(1, "padded"))
    assert not omega[:, :, 6:].any()
    assert not omega[1, :, :3].any()
    some = FullGP(kernel, gp.inputs[3:], gp.kappa[3:] > 0, 1e-3, mean=torch.from_numpy(m[3:]))
    for model, own in ((gp, omega[0, :, :6]), (some, omega[1, :, 3:6])):
        drawn = model.sample_omega(4000, 15, Stream(2, "product"))
        error = 4 * (own.var(0) / 4000 + drawn.var(0) / 4000).sqrt()
        assert ((own.mean(0) - drawn.mean(0)).abs() < error).all()
