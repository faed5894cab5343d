"""Inducing inputs in the order of a tree's leaves: every node's are one block, and its GP is what it is alone."""

from collections import Counter

import numpy as np
import pytest
import torch

from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.gp.fitc import FITC
from pfedgp_core.gp.full import FullGP
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.splits import Tree, build_tree
from pfedgp_core.tree.variants.base import ClientPoints
from pfedgp_core.tree.variants.make import make_variant
from pfedgp_core.tree.variants.shared_inducing import SharedInducing, leaf_order

KERNEL = make_kernel("rbf", 8.0, 0.7)


def tree_of(classes: int, seed: int) -> Tree:
    rng = np.random.default_rng(seed)
    return build_tree(rng.normal(size=(classes, 3)) ** 3, range(classes), rng)


def rows(*shape: int, seed: int = 0) -> torch.Tensor:
    return unit_sphere(torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64))


@pytest.mark.parametrize("seed", range(5))
def test_the_classes_of_every_node_are_neighbours_and_the_larger_child_is_first(seed: int) -> None:
    tree = tree_of(10, seed)
    order = leaf_order(tree)
    for node in tree.nodes:
        spans = [sorted(order.index(c) for c in side) for side in (node.left, node.right)]
        first, second = sorted(spans)
        assert [*first, *second] == list(range(first[0], first[0] + len(first) + len(second)))
        assert len(first) >= len(second)


def test_the_inducing_inputs_and_sides_of_a_node_are_those_of_its_classes() -> None:
    tree, inducing = tree_of(6, 1), rows(6, 4, 5)
    shared = SharedInducing(tree, ClientPoints(rows(6, 5), torch.arange(6), inducing), KERNEL, 1e-3, Counter())
    for node in tree.nodes:
        (found, block), on_left = shared.of(node), shared.on_left(node)
        for side, chosen in ((node.left, found[on_left]), (node.right, found[~on_left])):
            expected = inducing[list(side)].flatten(0, 1)
            assert sorted(map(tuple, chosen.tolist())) == sorted(map(tuple, expected.tolist()))
        torch.testing.assert_close(block.gram, KERNEL.gram(found, 1e-3))


@pytest.mark.parametrize("variant", ["ip-compute", "ip-data"])
def test_moments_and_gradients_are_those_of_nodes_that_share_nothing(variant: str) -> None:
    tree = tree_of(5, 2)
    settings = Settings(variant=variant, gp=GPSettings(solver="dense"))
    labels, found = torch.arange(40) % 5, []
    for together in (True, False):
        features, inducing = rows(40, 6, seed=1).requires_grad_(), rows(5, 12, 6, seed=2).requires_grad_()
        points = ClientPoints(features, labels, inducing)
        made = make_variant(settings, KERNEL)
        bound = made.for_tree(tree, points, Counter()) if together else made
        losses = []
        for node in tree.nodes:
            problem = bound.training_problem(node, points, Stream(3, node.index), Counter())
            gp, n = problem.known.gp, len(problem.known.gp.kappa)
            # One omega for all points, so that their order makes no difference.
            mu, v = gp.predict(problem.targets, torch.full((2, n), 0.2, dtype=torch.float64))
            losses.append((node.index + 1) * (mu.sin().sum() + v.sqrt().sum()))
        loss = torch.stack(losses).sum()
        found.append((loss, *torch.autograd.grad(loss, [features, inducing])))
    for ours, alone in zip(*found, strict=True):
        torch.testing.assert_close(ours, alone, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(("variant", "kind"), [("ip-compute", FITC), ("ip-data", FullGP)])
def test_a_tree_of_one_node_shares_nothing(variant: str, kind: type) -> None:
    points = ClientPoints(rows(8, 6), torch.arange(8) % 2, rows(2, 3, 6))
    made = make_variant(Settings(variant=variant), KERNEL)
    assert made.for_tree(tree_of(2, 0), points, Counter()) is made
    assert isinstance(made.conditioned(tree_of(2, 0).nodes[0], points, Counter()).gp, kind)


@pytest.mark.parametrize(("most", "expected"), [(0, 12), (20, 4), (60, 12), (3, 1), (1000, 12)])
def test_a_node_of_ip_data_trains_on_as_many_inducing_inputs_of_each_class_as_the_setting_leaves(
    most: int, expected: int
) -> None:
    tree = tree_of(5, 2)
    points = ClientPoints(rows(40, 6), torch.arange(40) % 5, rows(5, 12, 6, seed=2))
    variant = make_variant(Settings(variant="ip-data", inducing_per_node=most), KERNEL)
    problem = variant.training_problem(tree.nodes[0], points, Stream(0), Counter())
    assert points.inducing is not None
    held = [(points.inducing[c][:, None] == problem.known.gp.inputs).all(-1).any(1).sum() for c in range(5)]
    assert held == [expected] * 5
    assert (problem.known.gp.kappa > 0).sum() == expected * len(tree.nodes[0].left)


def test_thinned_inducing_inputs_are_drawn_by_the_node_s_stream() -> None:
    tree = tree_of(5, 2)
    points = ClientPoints(rows(40, 6), torch.arange(40) % 5, rows(5, 12, 6, seed=2))
    variant = make_variant(Settings(variant="ip-data", inducing_per_node=20), KERNEL)
    drawn = [
        variant.training_problem(tree.nodes[0], points, Stream(0, name), Counter()).known.gp.inputs
        for name in ("a", "a", "b")
    ]
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])


def test_thinning_leaves_prediction_as_it_is() -> None:
    points = ClientPoints(rows(40, 6), torch.arange(40) % 5, rows(5, 12, 6, seed=2))
    variant = make_variant(Settings(variant="ip-data", inducing_per_node=20), KERNEL)
    assert len(variant.conditioned(tree_of(5, 2).nodes[0], points, Counter()).gp.inputs) == 40 + 60
