"""The search for the difference of two clocks."""

import pytest

from pfedgp.doctor.clock import AHEAD_LIMIT, BEHIND_LIMIT, clock_offset, duration


@pytest.mark.parametrize("ahead", [0.0, 4.9, 5.1, -304.0, -306.0, 600.0, -600.0, 3600.0, -36_000.0])
def test_the_clock_is_found_to_the_second(ahead: float) -> None:
    calls = []

    def accepts(shift: float) -> bool:
        calls.append(shift)
        return -BEHIND_LIMIT < ahead + shift < AHEAD_LIMIT

    found = clock_offset(accepts, 86_400.0)

    assert found == pytest.approx(ahead, abs=1.0)
    assert len(calls) <= 2 * abs(ahead) / 300 + 16


def test_a_clock_that_cannot_be_found() -> None:
    assert clock_offset(lambda shift: False, 3600.0) is None
    tried: list[float] = []
    assert clock_offset(lambda shift: bool(tried.append(shift)), 1e6, over=lambda: len(tried) > 6) is None
    assert len(tried) < 10


def test_durations() -> None:
    assert [duration(s) for s in (0.4, 119.0, 600.0, 7200.0)] == ["0 s", "119 s", "10 minutes", "2.0 hours"]
