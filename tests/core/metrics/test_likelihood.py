"""Likelihood sums: those of the tempered predictions themselves, additive, and bounded by what samples can have."""

import numpy as np
import pytest

from pfedgp_core.errors import DataError
from pfedgp_core.metrics.classification import metric_sums
from pfedgp_core.metrics.likelihood import LIKELIHOOD_GRID, LikelihoodSums, tempered_log_likelihoods
from pfedgp_core.metrics.temperature import temperature_scale
from tests.core.metrics.test_calibration import predictions


def test_the_grid_has_60_temperatures_with_1_among_them() -> None:
    assert len(LIKELIHOOD_GRID) == 60
    assert 1.0 in LIKELIHOOD_GRID
    assert (LIKELIHOOD_GRID[0], LIKELIHOOD_GRID[-1]) == (0.05, 4.65)
    steps = np.diff(np.log(LIKELIHOOD_GRID))
    assert steps.max() / steps.min() == pytest.approx(1, abs=0.3)


def test_the_sums_are_the_nll_of_tempered_predictions() -> None:
    p, y = predictions(40, 4, 3)
    y[:3] = -1  # of classes that the client does not know
    found = tempered_log_likelihoods(np.log(p), y, LIKELIHOOD_GRID)
    expected = [-metric_sums(temperature_scale(p, t), y).nll_sum for t in LIKELIHOOD_GRID]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_sums_of_parts_add_up_to_those_of_all() -> None:
    p, y = predictions(50, 3, 1)
    logs = np.log(p)
    whole, parts = (
        LikelihoodSums.of(logs, y),
        LikelihoodSums.of(logs[:20], y[:20]) + LikelihoodSums.of(logs[20:], y[20:]),
    )
    assert whole.n == parts.n == 50
    np.testing.assert_allclose(whole.values, parts.values, rtol=1e-12)


def test_a_single_class_and_no_sample_say_nothing() -> None:
    assert LikelihoodSums.of(np.zeros((5, 1)), np.zeros(5, int)).values == (0.0,) * 60
    assert LikelihoodSums.of(np.zeros((0, 2)), np.zeros(0, int)) == LikelihoodSums()


def test_they_come_back() -> None:
    p, y = predictions(9, 3, 5)
    sums = LikelihoodSums.of(np.log(p), y)
    assert LikelihoodSums.from_dict(sums.to_dict()) == sums


@pytest.mark.parametrize(
    "changes",
    [
        {"n": -1},
        {"n": True},
        {"n": 0},
        {"values": [-1.0] * 59},
        {"values": [-1.0] * 59 + [0.5]},
        {"values": [-1.0] * 59 + [float("nan")]},
        {"values": [-1.0] * 59 + [-2 * 27.7]},
        {"values": "x" * 60},
        {"values": None},
    ],
)
def test_what_samples_cannot_have_is_refused(changes: dict) -> None:
    with pytest.raises(DataError):
        LikelihoodSums.from_dict({"n": 2, "values": [-1.0] * 60} | changes)
