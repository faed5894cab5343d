"""How far a long command is: a line on the standard error now and then, and none of a command that is soon done."""

import sys
import time
from collections.abc import Callable

__all__ = ["Progress"]


class Progress:
    """Lines with counts, the share of the data and the speed.

    Parameters
    ----------
    noun : str
        What is counted, in the plural.
    every : float
        Seconds between two lines, and before the first.
    clock : callable
        Seconds since any moment.
    """

    def __init__(self, noun: str, every: float = 10.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._noun, self._every, self._clock = noun, every, clock
        self._began = self._said = clock()

    def show(self, count: int, share: float) -> None:
        """Say how far it is, if it is time to.

        Parameters
        ----------
        count : int
            Done so far.
        share : float
            Part of the data, 0 to 1.
        """
        now = self._clock()
        if now - self._said < self._every:
            return
        self._said = now
        speed = count / (now - self._began)
        print(f"{count:,} {self._noun}, {share:.0%} of the data, {speed:,.0f} a second", file=sys.stderr, flush=True)
