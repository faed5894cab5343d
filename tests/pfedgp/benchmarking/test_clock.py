"""Measurements in turn, repeated, in seconds of the processor."""

import time
from typing import Any

from pfedgp.benchmarking import clock


def test_pairs_are_taken_in_turn_and_their_ratios_summarised() -> None:
    order, costs = [], iter([3.0, 1.0, 8.0, 2.0, 5.0, 5.0])

    def measured(name: str) -> Any:
        def take() -> float:
            order.append(name)
            return next(costs)

        return take

    pairs = clock.alternate(measured("a"), measured("b"), fewest=3, worth=0.0)
    assert order == ["a", "b"] * 3
    assert pairs.first == (3.0, 8.0, 5.0)
    assert pairs.second == (1.0, 2.0, 5.0)
    assert pairs.ratios == [1.0, 3.0, 4.0]
    assert pairs.ratio == 3.0
    assert pairs.spread == (1.0, 4.0)


def test_short_measurements_are_repeated_more_often() -> None:
    assert len(clock.repeat(lambda: 1.0, fewest=2, worth=5.0)) == 5
    assert len(clock.repeat(lambda: 100.0, fewest=2, worth=5.0)) == 2
    assert len(clock.repeat(lambda: 0.0, fewest=2, worth=5.0)) == clock.MOST_REPEATS


def test_cpu_seconds_leave_out_waiting() -> None:
    assert clock.seconds(lambda: time.sleep(0.2)) < 0.1
