"""Suggested samples are those that a greedy choice with exact conditional variances takes, and are not alike."""

import numpy as np
import pytest
import torch

from pfedgp_core.errors import DataError
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.site import suggestion
from pfedgp_core.site.suggestion import NOISE, greedy_batch, suggest
from tests.core.site.test_saved import VARIANTS, data, site_of

KERNEL = make_kernel("rbf", 8.0, 1.0)


def points(n: int, seed: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(n, 4)))


def variances(known: torch.Tensor, pool: torch.Tensor) -> np.ndarray:
    """What a Gaussian process on the known points leaves of each point of the pool."""
    given, new = unit_sphere(known), unit_sphere(pool)
    cross = KERNEL.cross(new, given)
    solved = torch.linalg.solve(KERNEL.gram(given, NOISE), cross.T)
    return (KERNEL.diagonal(new) - (cross * solved.T).sum(1)).numpy()


def test_the_choice_is_what_takes_most_of_the_pools_weighted_variance() -> None:
    known, pool = points(12, 0), points(30, 1)
    weights = np.random.default_rng(2).uniform(size=30)
    rows, shares = greedy_batch(KERNEL, known, pool, weights, 8)
    chosen: list[int] = []
    for row, share in zip(rows.tolist(), shares.tolist(), strict=True):
        before = variances(torch.cat([known, pool[chosen]]), pool)
        after = [variances(torch.cat([known, pool[[*chosen, each]]]), pool) for each in range(30)]
        taken = np.array([weights @ (before - left) for left in after])
        taken[chosen] = -1
        assert row == taken.argmax()
        assert share == pytest.approx(before[row] / 8)
        chosen.append(row)


def test_a_sample_like_many_unsure_ones_comes_before_one_that_is_like_no_other() -> None:
    crowd = torch.tensor([[0.0, 1.0, 0.0, 0.0]]) + 0.05 * points(20, 1)
    alone = torch.tensor([[0.0, 0.0, 1.0, 0.0]])
    pool = torch.cat([alone, crowd]).double()
    known = torch.tensor([[1.0, 0.0, 0.0, 0.0]]).double()
    assert greedy_batch(KERNEL, known, pool, np.ones(21), 1)[0][0] != 0
    sure_of_the_crowd = np.array([1.0] + 20 * [0.0])
    assert greedy_batch(KERNEL, known, pool, sure_of_the_crowd, 1)[0][0] == 0


def test_of_a_large_pool_some_stand_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggestion, "STAND_FOR_ALL", 3)
    assert suggestion._standing_for(2).tolist() == [0, 1]
    assert suggestion._standing_for(9).tolist() == [0, 4, 8]
    weights = np.zeros(9)
    weights[4] = 1.0
    pool = points(9, 3)
    assert greedy_batch(KERNEL, points(5, 0), pool, weights, 1)[0].tolist() == [4]
    monkeypatch.setattr(suggestion, "STAND_FOR_ALL", 1_000)
    assert len(suggestion._standing_for(1_000_000)) == suggestion.FEWEST_STAND
    assert len(suggestion._standing_for(10_000)) == 1_000


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
