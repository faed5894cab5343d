"""Models that are drawn towards each other along a weighted graph: the penalty of FedU and a step on it.

1/2 sum over pairs a_kl |w_k - w_l|^2, whose gradient in w_k is sum_l a_kl (w_k - w_l): the Laplacian of the graph
times the matrix of models.
"""

import numpy as np

__all__ = ["complete_graph", "penalty", "penalty_gradient", "pulled"]


def complete_graph(count: int, weight: float) -> np.ndarray:
    """The adjacency of a graph in which every pair has the same weight, float64 [count, count]."""
    return weight * (1.0 - np.eye(count))


def penalty(models: np.ndarray, adjacency: np.ndarray) -> float:
    """The penalty of models [S, P] under symmetric weights [S, S]."""
    return 0.5 * float((models * penalty_gradient(models, adjacency)).sum())


def penalty_gradient(models: np.ndarray, adjacency: np.ndarray) -> np.ndarray:
    """Its gradient in every model, float64 [S, P]."""
    gradient: np.ndarray = adjacency.sum(axis=1)[:, None] * models - adjacency @ models
    return gradient


def pulled(models: np.ndarray, adjacency: np.ndarray, coefficient: float) -> np.ndarray:
    """The models after a step of size `coefficient` on the penalty, all at once from where they were.

    For symmetric weights their mean stays; where `coefficient` times the largest eigenvalue of the Laplacian is below
    2, the penalty falls.
    """
    return models - coefficient * penalty_gradient(models, adjacency)
