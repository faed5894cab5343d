"""Suggested samples are those that a greedy choice with exact conditional variances takes, and are not alike."""

import numpy as np
import pytest
import torch

from pfedgp_core.errors import DataError
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.site.suggestion import NOISE, greedy_batch, suggest
from tests.core.site.test_saved import VARIANTS, data, site_of

KERNEL = make_kernel("rbf", 8.0, 1.0)


def points(n: int, seed: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(n, 4)))


def test_variances_are_those_of_a_gaussian_process_on_all_points_so_far() -> None:
    known, pool = points(12, 0), points(30, 1)
    weights = np.random.default_rng(2).uniform(size=30)
    rows, shares = greedy_batch(KERNEL, known, pool, weights, 8)
    chosen: list[int] = []
    for row, share in zip(rows.tolist(), shares.tolist(), strict=True):
        given, new = unit_sphere(torch.cat([known, pool[chosen]])), unit_sphere(pool)
        cross = KERNEL.cross(new, given)
        solved = torch.linalg.solve(KERNEL.gram(given, NOISE), cross.T)
        variance = KERNEL.diagonal(new) - (cross * solved.T).sum(1)
        scores = variance.numpy() * weights
        scores[chosen] = -1
        assert row == scores.argmax()
        assert share == pytest.approx(float(variance[row]) / 8)
        chosen.append(row)


def test_of_equal_candidates_one_is_enough() -> None:
    pool = points(3, 1).repeat_interleave(20, 0)
    rows, _ = greedy_batch(KERNEL, points(2, 0), pool, np.ones(60), 3)
    assert {row // 20 for row in rows.tolist()} == {0, 1, 2}


def test_a_small_pool_is_taken_whole() -> None:
    rows, _ = greedy_batch(KERNEL, points(5, 0), points(4, 1), np.zeros(4), 10)
    assert sorted(rows.tolist()) == [0, 1, 2, 3]


@pytest.mark.parametrize("options", VARIANTS, ids=lambda o: "-".join(map(str, o.values()))[:30])
def test_entropies_are_those_of_the_predictions(options: dict[str, object]) -> None:
    site = site_of(**options)
    features = site.model.features(data(40, (0, 1, 2, 3), seed=5).inputs)
    found = suggest(site, features, 5)
    np.testing.assert_array_equal(found.entropy, site.predict_features(features).entropy[found.rows])
    assert len(set(found.rows.tolist())) == 5


def test_no_samples_are_no_request() -> None:
    site = site_of()
    with pytest.raises(DataError, match="count from 1"):
        suggest(site, site.model.features(data(4).inputs), 0)


def test_a_site_of_one_class_goes_by_the_variance() -> None:
    site = site_of(held=(1,))
    features = site.model.features(data(40, (0, 1, 2, 3), seed=5).inputs)
    found, known = suggest(site, features, 5), torch.from_numpy(site.samples.features)
    expected, shares = greedy_batch(site.classifier.kernel, known, features, np.ones(40), 5)
    assert found.rows.tolist() == expected.tolist() != [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(found.variance, shares)
    assert found.by_variance
    assert not suggest(site_of(), features, 5).by_variance
