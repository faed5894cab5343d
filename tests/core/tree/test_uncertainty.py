"""The split of the entropy: against plain Monte Carlo, its signs, and where data are far away."""

import numpy as np
import pytest
import torch

from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.gp.class_ratio import apply_class_ratio
from pfedgp_core.gp.links import node_log_probabilities
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.classifier import PersonalClassifier
from pfedgp_core.tree.splits import Node, Tree, class_log_probabilities
from pfedgp_core.tree.uncertainty import binary_entropy, expected_entropy, split_entropy

TREE = Tree((0, 1, 2), (Node(0, (0,), (1, 2)), Node(1, (1,), (2,))))
MU = torch.tensor([[[0.3, 4.0, -60.0], [1.5, 3.0, 0.0]], [[-2.0, 2.0, 0.1], [0.4, 2.2, -1.0]]], dtype=torch.float64)
V = torch.tensor([[[2.0, 0.1, 1.0], [0.5, 0.2, 8.0]], [[1.0, 6.0, 0.0], [3.0, 1.0, 4.0]]], dtype=torch.float64)


def entropy(p: np.ndarray) -> np.ndarray:
    return -(p * np.log(np.maximum(p, 1e-300))).sum(-1)


@pytest.mark.parametrize("ratio", [None, (0.7, -1.1)])
def test_tree_entropies_equal_monte_carlo(ratio: tuple[float, float] | None) -> None:
    sides, parts, sampled, weights = [], [], [], []
    draw = np.random.default_rng(0)
    for mu, v in zip(MU, V, strict=True):
        side = node_log_probabilities(mu, v)
        sides.append(side if ratio is None else apply_class_ratio(*side, *ratio))
        parts.append((binary_entropy(*sides[-1]), expected_entropy(mu, v, 32, ratio)))
        chain = draw.integers(2, size=200_000)
        f = mu.numpy()[chain] + np.sqrt(v.numpy()[chain]) * draw.normal(size=(200_000, 3))
        p = 1 / (1 + np.exp(-f))
        left, right = np.exp(ratio or (0.0, 0.0))
        weights.append(left * p + right * (1 - p))
        sampled.append(left * p / weights[-1])
    logs = class_log_probabilities(TREE, sides, 3)
    total, aleatoric = split_entropy(TREE, logs, parts)
    np.testing.assert_allclose(total, entropy(logs.exp().numpy()), atol=1e-12)
    a, b = sampled
    mass = weights[0] * weights[1]
    given_f = entropy(np.stack([a, (1 - a) * b, (1 - a) * (1 - b)], -1))
    np.testing.assert_allclose(aleatoric, (mass * given_f).sum(0) / mass.sum(0), atol=0.006)
    assert (total - aleatoric >= 0).all()


def test_certain_and_uncertain_extremes() -> None:
    mu, v = torch.tensor([[0.0, 400.0, -400.0]]), torch.tensor([[0.0, 0.0, 1.0]])
    np.testing.assert_allclose(expected_entropy(mu, v), [np.log(2), 0, 0], atol=1e-6)
    assert binary_entropy(torch.tensor([0.0]), torch.tensor([-torch.inf])).tolist() == [0.0]


@pytest.mark.parametrize("link", ["arith", "chain-geo", "paper-explog"])
def test_classifier_knows_what_it_does_not_know(link: str) -> None:
    draw = Stream(0, "blobs")
    labels = torch.arange(60) % 3
    features = torch.eye(6)[labels] + 0.1 * draw.normal(60, 6)
    classifier = PersonalClassifier(Settings(gp=GPSettings(link=link)), Stream(1)).fit(features, labels)
    seen = classifier.predict_with_uncertainty(features)
    far = classifier.predict_with_uncertainty(-torch.eye(6)[3:4] - 1e-3)
    np.testing.assert_array_equal(seen.probabilities, classifier.predict_proba(features))
    for part in (seen, far):
        assert (part.epistemic >= 0).all()
        assert (part.aleatoric >= 0).all()
        assert (part.entropy <= np.log(3) + 1e-9).all()
        np.testing.assert_allclose(part.entropy, part.aleatoric + part.epistemic)
    np.testing.assert_allclose(seen.entropy, entropy(seen.probabilities), atol=1e-6)
    assert far.epistemic[0] > 2 * seen.epistemic.max()


def test_a_single_class_is_certain() -> None:
    prediction = PersonalClassifier().fit(torch.ones(3, 2), torch.zeros(3)).predict_with_uncertainty(torch.ones(4, 2))
    assert prediction.probabilities.tolist() == [[1.0]] * 4
    assert prediction.entropy.tolist() == prediction.epistemic.tolist() == [0.0] * 4
