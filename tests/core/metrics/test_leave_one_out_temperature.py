"""The temperature by leave-one-out: it finds the one that calibrates, and knows when samples say nothing."""

import numpy as np
import pytest

from pfedgp_core.metrics.leave_one_out import leave_one_out_temperature


def labelled(n: int, temperature: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities of three classes, and labels that follow them at a temperature."""
    rng = np.random.default_rng(seed)
    logs = rng.normal(size=(n, 3))
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    powers = np.exp(logs / temperature)
    cumulative = (powers / powers.sum(axis=1, keepdims=True)).cumsum(axis=1)
    return logs, (rng.random((n, 1)) > cumulative).sum(axis=1).clip(max=2)


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.0])
def test_many_samples_find_the_temperature_at_which_they_were_drawn(temperature: float) -> None:
    assert leave_one_out_temperature(*labelled(4000, temperature)) == pytest.approx(temperature, rel=0.15)


@pytest.mark.parametrize("centre", [0.2, 1.0, 5.0])
def test_samples_that_say_nothing_leave_the_temperature_that_is_known(centre: float) -> None:
    logs = np.full((20, 2), np.log(0.5))
    assert leave_one_out_temperature(logs, np.zeros(20, int), centre) == pytest.approx(centre, rel=1e-12)
    assert leave_one_out_temperature(np.zeros((20, 1)), np.zeros(20, int), centre) == pytest.approx(centre, rel=1e-12)


def test_few_samples_that_are_all_right_do_not_ask_for_the_sharpest() -> None:
    logs = np.log(np.array([[0.9, 0.1]] * 5))
    chosen = leave_one_out_temperature(logs, np.zeros(5, int))
    assert 0.4 < chosen < 1
    assert leave_one_out_temperature(np.tile(logs, (200, 1)), np.zeros(1000, int)) < 0.3


def test_a_small_spread_keeps_the_temperature_near_the_one_that_is_known() -> None:
    logs, columns = labelled(30, 0.3)
    found = [leave_one_out_temperature(logs, columns, 1.0, spread) for spread in (0.05, 0.3, 1.0)]
    assert found == sorted(found, reverse=True)
    assert found[0] > 0.9
    assert found[-1] < 0.5


def test_a_sample_that_cannot_be_costs_no_more_than_the_nll_says() -> None:
    logs = np.array([[0.0, -np.inf]] * 3)
    assert np.isfinite(leave_one_out_temperature(logs, np.array([0, 0, 1])))


def test_it_stays_within_the_limits_of_a_model() -> None:
    logs, _ = labelled(500, 1.0)
    assert leave_one_out_temperature(logs, logs.argmax(axis=1), centre=0.011) == 0.01
