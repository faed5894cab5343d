"""The nearest class mean: against one nearest neighbour, under rotations, and in a case by hand."""

import numpy as np
import pytest
import torch

from pfedgp_core.floors.class_mean import DISTANCES, ClassMeans

GENERATOR = torch.Generator().manual_seed(1)
FEATURES = torch.randn(12, 5, generator=GENERATOR, dtype=torch.float64)
LABELS = torch.tensor([2, 7, 9] * 4)
TESTS = torch.randn(6, 5, generator=GENERATOR, dtype=torch.float64)


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_rotation_of_the_features_changes_nothing(distance):
    rotation = torch.linalg.qr(torch.randn(5, 5, generator=GENERATOR, dtype=torch.float64))[0]
    plain = ClassMeans(FEATURES, LABELS, 3.0, distance).log_probabilities(TESTS)
    turned = ClassMeans(FEATURES @ rotation, LABELS, 3.0, distance).log_probabilities(TESTS @ rotation)
    torch.testing.assert_close(turned, plain, rtol=0, atol=1e-12)


def test_with_one_sample_a_class_it_is_the_nearest_neighbour():
    answers = ClassMeans(FEATURES[:3], LABELS[:3], 1.0, "euclidean").log_probabilities(TESTS).argmax(1)
    assert torch.equal(answers, torch.cdist(TESTS, FEATURES[:3]).argmin(1))


def test_euclidean_by_hand():
    made = ClassMeans(torch.tensor([[0.0], [2.0], [4.0]]), torch.tensor([5, 5, 8]), 1.0, "euclidean")
    assert made.means.tolist() == [[1.0], [4.0]]
    np.testing.assert_allclose(made.log_probabilities(torch.tensor([[1.0]])).exp()[0, 0], 1 / (1 + np.exp(-4.5)))


def test_cosine_does_not_see_the_length_of_features():
    made = ClassMeans(FEATURES, LABELS, 4.0)
    torch.testing.assert_close(made.log_probabilities(7 * TESTS), made.log_probabilities(TESTS), rtol=0, atol=1e-12)


def test_the_columns_are_the_sorted_classes():
    assert ClassMeans(FEATURES, LABELS).classes_.tolist() == [2, 7, 9]
