"""Intervals of shares and of the area under the ROC curve: known values, edges, and how often they hold the truth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

from pfedgp_core.metrics.intervals import (
    Estimate,
    auroc_estimate,
    f1_estimate,
    mean_estimate,
    share_estimate,
)


@given(st.integers(1, 500), st.data())
def test_a_share_has_wilsons_interval(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    found = binomtest(k, n).proportion_ci(method="wilson")
    assert share_estimate(k, n) == pytest.approx((k / n, found.low, found.high), abs=1e-12)


def test_a_share_of_nothing_does_not_exist() -> None:
    assert share_estimate(0, 0) is None
    assert f1_estimate(0, 0, 0) is None
    assert mean_estimate([]) is None
    assert auroc_estimate(0.5, 0, 3) is None


def test_f1_has_the_interval_of_the_share_that_it_is_a_function_of() -> None:
    low, high = binomtest(30, 45).proportion_ci(method="wilson")
    assert f1_estimate(30, 10, 5) == pytest.approx((60 / 75, 2 * low / (1 + low), 2 * high / (1 + high)))


def test_the_mean_of_one_share_is_the_share() -> None:
    share = share_estimate(7, 9)
    assert share is not None
    assert mean_estimate([share]) == pytest.approx(share)


def test_the_interval_of_a_mean_shrinks_with_the_number_of_shares() -> None:
    share = Estimate(0.5, 0.4, 0.7)
    assert mean_estimate([share] * 4) == pytest.approx((0.5, 0.45, 0.6))


@given(st.floats(0, 1), st.integers(1, 200), st.integers(1, 200))
def test_the_interval_of_an_area_holds_it_and_stays_within_0_and_1(area: float, positives: int, negatives: int) -> None:
    found = auroc_estimate(area, positives, negatives)
    assert found is not None
    assert 0 <= found.low <= area <= found.high <= 1
    assert found.low < found.high


@pytest.mark.parametrize(("positives", "negatives", "distance"), [(30, 30, 1.8), (8, 60, 1.2), (15, 15, 2.5)])
def test_nineteen_of_twenty_intervals_hold_the_true_area(positives: int, negatives: int, distance: float) -> None:
    rng = np.random.default_rng(5)
    truth, runs, held = norm.cdf(distance / np.sqrt(2)), 2000, 0
    for _ in range(runs):
        pos, neg = rng.normal(distance, 1, positives), rng.normal(0, 1, negatives)
        area = float((pos[:, None] > neg).mean())
        found = auroc_estimate(area, positives, negatives)
        assert found is not None
        held += found.low <= truth <= found.high
    # Four standard errors of 2,000 runs are 2 points; Newcombe's own trials found a coverage from 94 to 97 %.
    assert 0.93 <= held / runs <= 0.985
