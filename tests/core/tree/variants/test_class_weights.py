"""class-weights = balanced: the equations of a node's odds and of its loss, and what is refused."""

from collections import Counter

import numpy as np
import pytest
import torch

from pfedgp_core.certificate.classifier import NoCertificateError, certify_classifier
from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError
from pfedgp_core.gp.class_ratio import apply_class_ratio
from pfedgp_core.gp.links import node_log_probabilities
from pfedgp_core.gp.nodes import training_moments
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.site.prior import prior_weights
from pfedgp_core.tree.classifier import PersonalClassifier
from pfedgp_core.tree.client_tree import ClientTree
from pfedgp_core.tree.objectives import tree_loss
from pfedgp_core.tree.splits import Node
from pfedgp_core.tree.variants.class_weights import balanced_ratio, balanced_weights
from pfedgp_core.tree.variants.make import make_variant

PLAIN, BALANCED = Settings(), Settings(class_weights="balanced")


def unequal(sizes: tuple[int, ...], seed: int = 0, spread: float = 1.0) -> tuple[torch.Tensor, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    centres = rng.normal(size=(len(sizes), 6))
    return torch.from_numpy(spread * centres[labels] + rng.normal(size=(len(labels), 6))), labels


def fitted(settings: Settings, sizes: tuple[int, ...], spread: float = 1.0) -> PersonalClassifier:
    return PersonalClassifier(settings, Stream(3)).fit(*unequal(sizes, spread=spread))


def test_the_odds_of_two_classes_are_those_of_bayes_rule_for_equal_shares() -> None:
    sizes = (60, 7)
    new = unequal((20, 20), seed=1)[0]
    plain, balanced = (fitted(s, sizes).predict_proba(new) for s in (PLAIN, BALANCED))
    odds = plain[:, 0] / plain[:, 1] * (7 / 60)
    np.testing.assert_allclose(balanced[:, 0] / balanced[:, 1], odds, rtol=1e-4)
    weights = prior_weights("balanced", ("a", "b"), sizes)
    corrected = plain * weights / (plain * weights).sum(1, keepdims=True)
    np.testing.assert_allclose(balanced, corrected, rtol=1e-4)


def test_the_correction_of_a_node_counts_classes_and_points() -> None:
    node = Node(0, (0, 2), (1,))
    left, right = balanced_ratio(node, 30, 5)  # type: ignore[misc]
    assert left == pytest.approx(np.log((2 / 3) / (30 / 35)))
    assert right == pytest.approx(np.log((1 / 3) / (5 / 35)))
    assert balanced_ratio(node, 30, 0) is None


def test_where_inputs_say_nothing_each_class_gets_its_equal_share() -> None:
    """A node that answers with the shares of its points: the product along each path is 1 / k."""
    sizes = (50, 6, 20)
    classifier = fitted(BALANCED, sizes)
    shares = {0: 1.0, 1: 1.0, 2: 1.0}
    for node, (known, _) in zip(classifier.tree_.nodes, classifier.nodes_, strict=True):
        counts = [sum(sizes[c] for c in side) for side in (node.left, node.right)]
        sides = torch.tensor(counts, dtype=torch.float64).div(sum(counts)).log()
        assert known.log_ratio is not None
        left, right = apply_class_ratio(*sides, *known.log_ratio)
        for c in node.left:
            shares[c] *= float(left.exp())
        for c in node.right:
            shares[c] *= float(right.exp())
    assert list(shares.values()) == pytest.approx([1 / 3] * 3)


def test_a_rare_class_is_found_more_often() -> None:
    sizes, new = (100, 4), unequal((0, 60), seed=5, spread=0.7)[0]
    found = [np.mean(fitted(s, sizes, spread=0.7).predict(new) == 1) for s in (PLAIN, BALANCED)]
    assert found[1] > found[0] + 0.1


def test_leaving_a_point_out_takes_it_from_the_count_of_its_side() -> None:
    """Closed form: the correction without a point of the left side is that of one point fewer there."""
    classifier = fitted(BALANCED, (30, 5))
    ((known, _),), (node,) = classifier.nodes_, classifier.tree_.nodes
    counts = [sum((30, 5)[c] for c in side) for side in (node.left, node.right)]
    assert known.own is not None
    assert known.own.ratio_without_left == balanced_ratio(node, counts[0] - 1, counts[1])
    assert known.own.ratio_without_right == balanced_ratio(node, counts[0], counts[1] - 1)
    plain = fitted(PLAIN, (30, 5)).leave_one_out_log_proba()
    ours = classifier.leave_one_out_log_proba()
    on_left = np.isin(unequal((30, 5))[1], node.left)
    shift = np.where(on_left, np.subtract(*known.own.ratio_without_left), np.subtract(*known.own.ratio_without_right))
    column = 0 if node.left == (0,) else 1
    odds = (plain[:, column] - plain[:, 1 - column]) + shift
    np.testing.assert_allclose(ours[:, column] - ours[:, 1 - column], odds, rtol=1e-4, atol=1e-5)


def test_weights_give_each_class_the_same_and_have_mean_1() -> None:
    weights = balanced_weights(np.array([0, 0, 0, 2]))
    np.testing.assert_allclose(weights, [2 / 3, 2 / 3, 2 / 3, 2])


@pytest.mark.parametrize("variant", ["full", "ip-compute"])
@pytest.mark.parametrize("normalisation", ["node-mean", "point-mean"])
def test_the_loss_is_the_weighted_mean_of_the_corrected_losses(variant: str, normalisation: str) -> None:
    settings = BALANCED.replace(variant=variant, loss_normalisation=normalisation)
    features, labels = unequal((40, 9))
    inducing = torch.randn(2, 4, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    client = ClientTree.build(features, torch.from_numpy(labels), [0, 1], None, Stream(0))
    points = client.points(features, inducing if variant == "ip-compute" else None)
    made = make_variant(settings, make_kernel("rbf", 8.0, 1.0))
    loss = tree_loss(points, client.tree, made, settings, Stream(7), Counter())
    assert loss is not None
    stream = Stream(7).child(0)
    (problem,) = made.training_problems(client.tree.nodes, points, [stream], Counter())
    assert problem is not None
    gp, on_left = settings.gp, problem.target_left.numpy()
    _, mu, v = training_moments([problem.known.gp], [problem.targets], [stream], gp.train_chains, gp.sweeps, Counter())
    left, right = (side.numpy() for side in node_log_probabilities(mu, v, "arith", 0))
    kept = [int((problem.known.gp.kappa * sign > 0).sum()) for sign in (1, -1)]
    odds = np.exp(left - right) * kept[1] / kept[0]
    own = np.where(on_left, odds / (1 + odds), 1 / (1 + odds))
    counts = np.where(on_left, on_left.sum(), (~on_left).sum())  # each class has half of all weight
    assert float(loss) == pytest.approx((-np.log(own) / counts).sum() / 2, rel=1e-5)


def test_gradients_reach_the_features() -> None:
    features, labels = unequal((40, 9))
    features.requires_grad_()
    client = ClientTree.build(features.detach(), torch.from_numpy(labels), [0, 1], None, Stream(0))
    made = make_variant(BALANCED, make_kernel("rbf", 8.0, 1.0))
    loss = tree_loss(client.points(features, None), client.tree, made, BALANCED, Stream(7), Counter())
    assert loss is not None
    loss.backward()
    assert features.grad is not None
    assert features.grad.abs().sum() > 0


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ({"variant": "ip-data"}, "class-balancing = false"),
        ({"objective": "loo"}, "objective = 'predictive'"),
        ({"task": "regression", "dataset": "diabetes"}, "has no classes"),
    ],
)
def test_what_it_does_not_go_with_is_refused(others: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Settings(class_weights="balanced", **others)  # type: ignore[arg-type]


def test_there_is_no_pac_bayes_certificate() -> None:
    with pytest.raises(NoCertificateError, match="class-weights"):
        certify_classifier(fitted(BALANCED, (40, 40)), unequal((40, 40))[1], 2)
