"""FedU's step on the graph: what it conserves, what it lowers, and its gradient by finite differences."""

import numpy as np
import pytest

from pfedgp_core.learning.coupling import complete_graph, penalty, penalty_gradient, pulled

RNG = np.random.default_rng(3)
MODELS = RNG.normal(size=(5, 7))
WEIGHTS = np.abs(RNG.normal(size=(5, 5)))
GRAPH = (WEIGHTS + WEIGHTS.T) * (1 - np.eye(5))
LAPLACIAN = np.diag(GRAPH.sum(axis=1)) - GRAPH


def test_the_gradient_is_the_laplacian_times_the_models():
    np.testing.assert_allclose(penalty_gradient(MODELS, GRAPH), LAPLACIAN @ MODELS, atol=1e-12)


def test_the_gradient_is_that_of_the_penalty():
    direction, h = RNG.normal(size=MODELS.shape), 1e-6
    slope = (penalty(MODELS + h * direction, GRAPH) - penalty(MODELS - h * direction, GRAPH)) / (2 * h)
    np.testing.assert_allclose(slope, (penalty_gradient(MODELS, GRAPH) * direction).sum(), rtol=1e-8)


def test_the_penalty_counts_each_pair_once():
    pairs = [(k, other) for k in range(5) for other in range(k)]
    expected = 0.5 * sum(GRAPH[k, other] * ((MODELS[k] - MODELS[other]) ** 2).sum() for k, other in pairs)
    np.testing.assert_allclose(penalty(MODELS, GRAPH), expected, rtol=1e-12)


def test_a_step_conserves_the_mean():
    np.testing.assert_allclose(pulled(MODELS, GRAPH, 0.1).mean(axis=0), MODELS.mean(axis=0), atol=1e-13)


@pytest.mark.parametrize("part", [0.1, 1.0, 1.9])
def test_a_step_below_the_bound_lowers_the_penalty(part):
    largest = np.linalg.eigvalsh(LAPLACIAN)[-1]
    assert penalty(pulled(MODELS, GRAPH, part / largest), GRAPH) < penalty(MODELS, GRAPH)


def test_a_whole_step_on_the_complete_graph_is_the_average():
    after = pulled(MODELS, complete_graph(5, 1 / 5), 1.0)
    np.testing.assert_allclose(after, np.tile(MODELS.mean(axis=0), (5, 1)), atol=1e-13)


def test_without_weights_nothing_moves():
    assert pulled(MODELS, np.zeros((5, 5)), 0.7).tobytes() == MODELS.tobytes()
