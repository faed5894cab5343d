"""Time of a client in seconds, by phase."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pfedgp_core.learning.result import UpdateResult

__all__ = ["CPU", "EVALUATION_CPU", "PhaseTimer", "cpu_time", "network_time"]

CPU = "cpu"  # a phase beside the others, which it covers
EVALUATION_CPU = "evaluation_cpu"  # of a round: the part of that which was spent on validation


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


@contextmanager
def network_time(result: UpdateResult) -> Iterator[None]:
    """Add the seconds of the block to the phase ``network`` of a result."""
    timer = PhaseTimer()
    with timer.phase("network"):
        yield
    result.seconds["network"] = result.seconds.get("network", 0.0) + timer.seconds["network"]


@contextmanager
def cpu_time() -> Iterator[dict[str, float]]:
    """The CPU seconds of this thread in the block, as the phase `CPU` of what the block gives."""
    spent, began = {CPU: 0.0}, time.thread_time()
    yield spent
    spent[CPU] = time.thread_time() - began
