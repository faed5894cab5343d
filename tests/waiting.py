"""Waiting for a condition, and a clock on which waiting takes no time."""

import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["FakeTime", "wait_for"]

T = TypeVar("T")


def wait_for(look: Callable[[], T], seconds: float, what: str, every: float = 0.1) -> T:
    """Look every so many seconds until there is something, and return it; the test fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        time.sleep(every)
    return found


class FakeTime:
    """Stands for the module ``time`` where a test says how long something waits."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        """Seconds on this clock."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Put the clock forward."""
        self.slept.append(seconds)
        self.now += seconds
