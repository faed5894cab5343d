"""How much a client weighs: at most three median clients, and exactly as before where nobody has more."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfedgp_core.bounded_counts import bounded_counts, even_part
from pfedgp_core.metrics.calibration import CalibrationSums, temperature_sums
from pfedgp_core.metrics.classification import MetricSums, metric_sums
from pfedgp_core.metrics.ece import expected_calibration_error
from pfedgp_core.metrics.regression import RegressionSums, regression_sums
from tests.forged_claims import flawless

COUNTS = st.lists(st.integers(0, 10**12), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("claimed", "counted"),
    [
        ([5000, 200, 200, 200, 200], [600, 200, 200, 200, 200]),
        ([10**8, 40, 35, 38, 33], [114, 40, 35, 38, 33]),
        ([600, 200, 200], [600, 200, 200]),
        ([0, 7], [0, 7]),
        ([0, 0], [0, 0]),
        ([100, 1], [3, 1]),
    ],
)
def test_a_client_counts_for_at_most_three_median_clients(claimed: list[int], counted: list[int]) -> None:
    assert bounded_counts(claimed) == counted


@given(COUNTS)
def test_the_largest_of_five_equal_clients_or_more_never_has_half(claimed: list[int]) -> None:
    four = [100] * 4
    counted = bounded_counts([*four, claimed[0]])
    assert 2 * max(counted) < sum(counted)


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=40), st.floats(0, 1))
def test_an_even_part_has_its_size_and_no_cell_more_than_one_sample_off(cells: list[int], share: float) -> None:
    n = int(share * sum(cells))
    part = even_part(cells, n)
    assert sum(part) == n
    assert all(0 <= taken <= cell for taken, cell in zip(part, cells, strict=True))
    # Exact, because floats cannot tell such counts apart.
    assert all(abs(t * sum(cells) - c * n) <= sum(cells) for t, c in zip(part, cells, strict=True))


def _predictions(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    return rng.dirichlet(np.ones(4), n), rng.integers(0, 4, n)


def test_reduced_sums_are_sums_that_the_wire_would_take_and_keep_every_mean() -> None:
    sums = metric_sums(*_predictions(5000))
    reduced = sums.thinned(600)
    assert MetricSums.from_dict(reduced.to_dict()) == reduced
    assert reduced.n == 600
    assert reduced.correct / 600 == pytest.approx(sums.correct / 5000, abs=1 / 600)
    assert reduced.nll_sum / 600 == pytest.approx(sums.nll_sum / 5000)
    assert reduced.brier_sum / 600 == pytest.approx(sums.brier_sum / 5000)
    assert expected_calibration_error(reduced) == pytest.approx(expected_calibration_error(sums), abs=15 / 600)


def test_sums_of_no_more_samples_stay_the_same_object() -> None:
    sums = metric_sums(*_predictions(50))
    assert sums.thinned(50) is sums
    assert sums.thinned(600) is sums


def test_counts_beyond_64_bits_when_multiplied_are_reduced_exactly() -> None:
    assert flawless(10**12).thinned(10**9) == flawless(10**9)


def test_reduced_sums_of_a_regression_are_consistent_too() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=1000)
    sums = regression_sums(y + rng.normal(size=1000), np.ones(1000), y, 0.0, 1.0)
    reduced = sums.thinned(77)
    assert RegressionSums.from_dict(reduced.to_dict()).n == 77
    assert reduced.squared_error / 77 == pytest.approx(sums.squared_error / 1000)


def test_calibration_sums_are_reduced_as_a_whole() -> None:
    p, y = _predictions(300)
    at = temperature_sums(p, y)
    confusion = tuple((i, j, int(((y == i) & (p.argmax(1) == j)).sum())) for i in range(4) for j in range(4))
    reduced = CalibrationSums(at, at, confusion).thinned(100, 30)
    assert {sums.n for sums in reduced.validation} == {100}
    assert {sums.n for sums in reduced.test} == {30}
    assert CalibrationSums.from_dict(reduced.to_dict()).confusion == reduced.confusion
