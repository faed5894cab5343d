"""Sums of regression metrics: values against a direct computation, pooling, and refusal of impossible sums."""

import dataclasses
import math

import numpy as np
import pytest

from pfedgp_core.errors import DataError
from pfedgp_core.metrics.regression import LEVELS, RegressionSums, coverage_curve, regression_sums
from pfedgp_core.metrics.summary import summarise


def predictions(n=50, seed=0):
    rng = np.random.default_rng(seed)
    targets = 100 + 20 * rng.normal(size=n)
    return targets + 5 * rng.normal(size=n), rng.uniform(3, 8, size=n), targets


def sums(n=50, seed=0, baseline=99.0, scale=18.0):
    return regression_sums(*predictions(n, seed), baseline, scale)


def test_values():
    mean, deviation, y = predictions()
    got = summarise(sums())
    z = (y - mean) / deviation
    assert got["n"] == 50
    assert got["rmse"] == pytest.approx(np.sqrt(np.mean((y - mean) ** 2)))
    assert got["mae"] == pytest.approx(np.mean(np.abs(y - mean)))
    assert got["nll"] == pytest.approx(np.mean(z**2 / 2 + np.log(deviation) + math.log(2 * math.pi) / 2))
    assert got["r2"] == pytest.approx(1 - np.sum((y - mean) ** 2) / np.sum((y - y.mean()) ** 2))
    assert got["coverage"] == np.mean(np.abs(z) <= 1.959963984540054)
    assert got["standard_rmse"] == pytest.approx(got["rmse"] / 18.0)
    assert got["baseline_rmse"] == pytest.approx(np.sqrt(np.mean((y - 99.0) ** 2)))
    assert got["baseline_r2"] == pytest.approx(1 - np.sum((y - 99.0) ** 2) / np.sum((y - y.mean()) ** 2))
    assert all(type(value) in (int, float) for value in got.values())


def test_coverage_of_calibrated_predictions():
    rng = np.random.default_rng(0)
    y = rng.normal(size=20_000)
    curve = coverage_curve(regression_sums(np.zeros_like(y), np.ones_like(y), y, 0.0, 1.0))
    assert [level for level, _ in curve] == list(LEVELS)
    np.testing.assert_allclose([share for _, share in curve], LEVELS, atol=0.01)
    assert coverage_curve(RegressionSums()) == []


def test_pooling_is_that_of_all_samples():
    (m1, s1, y1), (m2, s2, y2) = predictions(30, 1), predictions(70, 2)
    pooled = regression_sums(m1, s1, y1, 99.0, 18.0) + regression_sums(m2, s2, y2, 99.0, 18.0)
    whole = regression_sums(np.r_[m1, m2], np.r_[s1, s2], np.r_[y1, y2], 99.0, 18.0)
    assert summarise(pooled) == pytest.approx(summarise(whole))
    assert sum([pooled], RegressionSums.zero()) == pooled


def test_round_trip_is_exact():
    assert RegressionSums.from_dict(sums().to_dict()) == sums()
    assert RegressionSums.from_dict(RegressionSums().to_dict()) == RegressionSums()
    assert {type(v) for v in sums().to_dict().values()} == {int, float, list}


def test_no_sample_and_no_spread_give_none_not_nan():
    assert set(summarise(RegressionSums()).values()) == {None, 0}
    one = summarise(regression_sums([1.0], [1.0], [2.0], 0.0, 1.0))
    equal = summarise(regression_sums([1.0, 3.0], [1.0, 1.0], [0.1, 0.1], 0.0, 1.0))
    for got in (one, equal):
        assert got["r2"] is got["baseline_r2"] is None
        assert got["rmse"] > 0


@pytest.mark.parametrize(
    "change",
    [
        {"n": -1},
        {"n": 0},
        {"squared_error": -1.0},
        {"squared_error": float("nan")},
        {"nll_sum": float("inf")},
        {"absolute_error": 1e9},
        {"target_sum": 1e9},
        {"covered": np.zeros(3, np.int64)},
        {"covered": np.full(len(LEVELS), 51)},
        {"covered": np.arange(len(LEVELS))[::-1]},
    ],
    ids=str,
)
def test_impossible_sums_are_refused(change):
    with pytest.raises(DataError, match="egression sums"):
        RegressionSums.from_dict(dataclasses.replace(sums(), **change).to_dict())


@pytest.mark.parametrize("values", [{}, {"n": "many"}, sums().to_dict() | {"covered": "x"}])
def test_other_things_are_no_sums(values):
    with pytest.raises(DataError, match="not regression sums"):
        RegressionSums.from_dict(values)


@pytest.mark.parametrize(
    ("mean", "deviation", "targets"),
    [([1.0], [1.0], [1.0, 2.0]), ([1.0], [0.0], [1.0]), ([np.nan], [1.0], [1.0]), ([1.0], [1.0], [np.inf])],
)
def test_bad_predictions_are_refused(mean, deviation, targets):
    with pytest.raises(DataError):
        regression_sums(mean, deviation, targets, 0.0, 1.0)
