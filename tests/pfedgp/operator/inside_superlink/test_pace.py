"""How often sites look for messages: all of them together stay below a number a second."""

from pfedgp.operator.inside_superlink.pace import FORGOTTEN, LOOKS, Pace
from tests.waiting import FakeTime


def test_sites_wait_for_as_long_as_there_are_many() -> None:
    pace = Pace(FakeTime().monotonic)
    pauses = [pace.pause(str(i).encode()) for i in range(1000)]
    assert pauses[0] == 1 / LOOKS
    assert pauses[-1] == 1000 / LOOKS
    assert pace.pause(b"0") == 1000 / LOOKS  # a site counts once


def test_a_site_that_has_gone_no_longer_counts() -> None:
    time = FakeTime()
    pace = Pace(time.monotonic)
    for name in (b"a", b"b"):
        pace.pause(name)
    time.sleep(FORGOTTEN / 2)
    assert pace.pause(b"a") == 2 / LOOKS
    time.sleep(FORGOTTEN / 2 + 1)
    assert pace.pause(b"a") == 1 / LOOKS
