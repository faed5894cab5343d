"""Time of a client in seconds, by phase."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["PhaseTimer"]


class PhaseTimer:
    """Adds up the seconds spent in named phases.

    Parameters
    ----------
    clock : callable
        ``time.perf_counter`` (default) or, for benchmarks on a busy machine, ``time.process_time``.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock
        self.seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Charge the block to phase `name`."""
        start = self.clock()
        try:
            yield
        finally:
            self.seconds[name] += self.clock() - start
