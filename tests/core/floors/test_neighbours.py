"""Nearest neighbours by hand."""

import numpy as np
import torch

from pfedgp_core.floors.neighbours import Neighbours

FEATURES, LABELS = torch.tensor([[0.0], [1.0], [3.0], [10.0]]), torch.tensor([4, 6, 4, 9])
TEST = torch.tensor([[1.0]])


def shares(count: int, scale: float = 2.0) -> np.ndarray:
    return Neighbours(FEATURES, LABELS, count, scale).log_probabilities(TEST).exp()[0].numpy()


def test_the_nearest_alone():
    np.testing.assert_allclose(shares(1), [0.0, 1.0, 0.0])


def test_neighbours_speak_by_their_distance():
    weights = np.exp(-np.array([1.0, 0.0, 2.0]) / 2.0)
    np.testing.assert_allclose(shares(3), [(weights[0] + weights[2]) / weights.sum(), 1 / weights.sum(), 0.0])


def test_fewer_samples_than_neighbours():
    np.testing.assert_allclose(shares(99).sum(), 1.0)
