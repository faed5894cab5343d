"""The time that a run has left: the schedule of evaluations is known, and their cost is measured."""

from dataclasses import replace
from typing import Any

import pytest

from pfedgp_core.config import Settings
from pfedgp_core.metrics.output_scale import scale_grid
from server.report.time_left import TimeLeft

SETTINGS = Settings(rounds=20, evaluate_every=5, clients_per_round=5, test_initial=False)


def record(t: int, training: float, evaluating: float = 0.0) -> dict[str, Any]:
    return {"round": t, "seconds": {"round": training + evaluating, "evaluate": evaluating}}


def course(settings: Settings = SETTINGS, training: float = 1.0, evaluating: float = 9.0) -> list[dict[str, Any]]:
    """The records of a simulation whose first round takes ten times as long."""
    due = [t % settings.evaluate_every == 0 or t == settings.rounds for t in range(1, settings.rounds + 1)]
    return [
        record(t, 10 * training if t == 1 else training, evaluating if due[t - 1] else 0.0)
        for t in range(1, settings.rounds + 1)
    ]


@pytest.mark.parametrize("every", [1, 3, 5, 20])
def test_it_is_what_the_rounds_and_the_test_will_take(every: int) -> None:
    settings = SETTINGS.replace(evaluate_every=every)
    records, left = course(settings), TimeLeft(settings, 20, own_data=False)
    test = 9.0
    for done, one in enumerate(records, start=1):
        left.add(one)
        if done > max(1, every - 1):  # an evaluation is known
            expected = sum(each["seconds"]["round"] for each in records[done:]) + test
            assert left.seconds(done) == pytest.approx(expected)


def test_before_the_first_evaluation_it_costs_as_much_as_training_as_many_clients() -> None:
    left = TimeLeft(SETTINGS, 20, own_data=False)
    for one in course()[:3]:
        left.add(one)
    assert left.seconds(3) == pytest.approx(17 * 1.0 + 5 * 4.0)
    beside = TimeLeft(SETTINGS, 20, own_data=True)
    for one in course()[:3]:
        beside.add(one)
    assert beside.seconds(3) == pytest.approx(17 * 1.0 + 6 * 1.0)  # the sites make their classifiers, too


def test_the_first_round_says_nothing_unless_it_is_the_last() -> None:
    left = TimeLeft(SETTINGS, 20, own_data=False)
    left.add(record(1, 10.0))
    assert left.seconds(1) is None
    only = TimeLeft(SETTINGS.replace(rounds=1), 20, own_data=False)
    only.add(record(1, 10.0, 3.0))
    assert only.seconds(1) == pytest.approx(3.0)


def test_an_evaluation_that_rides_in_the_next_round_costs_what_that_one_takes_longer() -> None:
    left = TimeLeft(SETTINGS.replace(personalise=False), 5, own_data=True)
    for t in range(1, 12):
        left.add(record(t, 3.0 if t in (6, 11) else 1.0))
    assert left.seconds(11) == pytest.approx(9 * 1.0 + 3 * 2.0)


def test_exchanges_of_the_end_cost_as_much_as_a_round_where_evaluations_have_ridden() -> None:
    """The last round's evaluation, the test, the sites' classifiers, and the test of the network before round 1."""
    left = TimeLeft(SETTINGS.replace(test_initial=True), 5, own_data=True)
    for t in range(1, 20):
        left.add(record(t, 1.0))
    assert left.seconds(19) == pytest.approx(1.0 + 4 * 1.0)
    left.add(record(20, 1.0, 0.5))  # measured now
    assert left.seconds(20) == pytest.approx(3 * 0.5)


def test_the_choice_of_an_output_scale_costs_an_evaluation_a_scale() -> None:
    settings = SETTINGS.replace(gp=replace(SETTINGS.gp, choose_scale=True))
    left = TimeLeft(settings, 20, own_data=False)
    for one in course(settings):
        left.add(one)
    assert left.seconds(20) == pytest.approx((1 + len(scale_grid(settings))) * 9.0)


def test_a_test_of_all_costs_more_than_evaluations_of_some() -> None:
    left = TimeLeft(SETTINGS.replace(evaluate_clients=10), 100, own_data=False)
    for one in course(evaluating=2.0):
        left.add(one)
    assert left.seconds(20) == pytest.approx(10 * 2.0)


def test_the_network_before_round_1_is_tested_too() -> None:
    left = TimeLeft(SETTINGS.replace(test_initial=True), 20, own_data=False)
    for one in course():
        left.add(one)
    assert left.seconds(20) == pytest.approx(2 * 9.0)


def test_rounds_that_waited_for_somebody_do_not_count() -> None:
    left = TimeLeft(SETTINGS, 20, own_data=False)
    for one in [*course()[:12], record(13, 600.0)]:
        left.add(one)
    assert left.seconds(13) == pytest.approx(7 * 1.0 + 3 * 9.0)
