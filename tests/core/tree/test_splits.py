"""Class trees: exact splits, coinciding prototypes, path products, invariances."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pfedgp_core.errors import NonFiniteError
from pfedgp_core.tree.splits import Node, Tree, build_tree, class_log_probabilities, class_means, two_means


def rng():
    return np.random.default_rng(0)


def within(points, left):
    return sum(((part - part.mean(0)) ** 2).sum() for part in (points[left], points[~left]))


@given(st.integers(2, 7), st.integers(0, 10_000))
@settings(max_examples=40)
def test_split_of_few_classes_is_the_best_of_all(k, seed):
    points = np.random.default_rng(seed).normal(size=(k, 3))
    left = two_means(points, rng())
    best = min(
        within(points, np.array((True, *rest)))
        for rest in itertools.product((True, False), repeat=k - 1)
        if not all(rest)
    )
    assert left[0]
    assert not left.all()
    assert within(points, left) == pytest.approx(best, rel=1e-9)


def test_many_classes_are_split_where_they_separate():
    centres = np.repeat(np.array([[0.0, 0.0], [9.0, 9.0]]), 20, axis=0)
    points = centres + np.random.default_rng(1).normal(size=(40, 2))
    left = two_means(points, rng())
    assert left[:20].all()
    assert not left[20:].any()


@pytest.mark.parametrize("k", [2, 3, 10, 30])
def test_identical_prototypes_end_in_a_tree(k):
    tree = build_tree(np.ones((k, 4)), range(k), rng())
    assert len(tree.nodes) == k - 1
    assert all(node.left and node.right for node in tree.nodes)


@given(st.integers(1, 25), st.integers(0, 1000))
@settings(max_examples=30)
def test_tree_holds_every_class_once_a_level(k, seed):
    classes = sorted(np.random.default_rng(seed).choice(1000, size=k, replace=False).tolist())
    tree = build_tree(np.random.default_rng(seed).normal(size=(k, 5)), classes, rng())
    assert tree.classes == tuple(classes)
    assert len(tree.nodes) == k - 1
    for node in tree.nodes:
        assert min(node.left) < min(node.right)
        assert not set(node.left) & set(node.right)
    if k > 1:
        assert sorted(tree.nodes[0].left + tree.nodes[0].right) == classes


@given(st.integers(1, 12), st.integers(0, 1000))
@settings(max_examples=30)
def test_class_probabilities_sum_to_one(k, seed):
    tree = build_tree(np.random.default_rng(seed).normal(size=(k, 5)), range(k), rng())
    left = torch.rand(len(tree.nodes), 6, dtype=torch.float64)
    logs = class_log_probabilities(tree, [(p.log(), (1 - p).log()) for p in left], 6)
    assert logs.shape == (6, k)
    torch.testing.assert_close(logs.exp().sum(1), torch.ones(6, dtype=logs.dtype))


def test_golden_tree(golden):
    case = golden.case("tree_balanced4")
    nodes, p_left = case["inputs"]["nodes"], case["inputs"]["p_left"]
    tree = Tree((0, 1, 2, 3), tuple(Node(i, tuple(s[0]), tuple(s[1])) for i, s in enumerate(nodes.values())))
    sides = [torch.tensor(p_left[name], dtype=torch.float64) for name in nodes]
    probabilities = class_log_probabilities(tree, [(p.log(), torch.log1p(-p)) for p in sides], 4).exp()
    np.testing.assert_allclose(probabilities.numpy(), case["asserts"][0]["value"], atol=1e-12)


def test_prototypes_are_class_means():
    features = torch.tensor([[1.0, 0.0], [3.0, 0.0], [0.0, 5.0]])
    np.testing.assert_allclose(class_means(features, torch.tensor([4, 4, 9]), [4, 9]), [[2, 0], [0, 5]])


def test_non_finite_prototype_is_named():
    with pytest.raises(NonFiniteError, match="prototype"):
        build_tree(np.array([[0.0], [np.nan]]), [0, 1], rng())
