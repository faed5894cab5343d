"""Lines about a long command."""

import pytest

from pfedgp.predicting.progress import Progress
from tests.waiting import FakeTime


def test_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    time = FakeTime()
    progress = Progress("predictions", every=10.0, clock=time.monotonic)
    for count in range(1000, 7000, 1000):
        time.sleep(4.0)
        progress.show(count, count / 10_000)
    assert capsys.readouterr().err.splitlines() == [
        "3,000 predictions, 30% of the data, 250 a second",
        "6,000 predictions, 60% of the data, 250 a second",
    ]


def test_a_short_command_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress("predictions", clock=FakeTime().monotonic)
    progress.show(10, 1.0)
    assert capsys.readouterr().err == ""
