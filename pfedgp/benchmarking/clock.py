"""Timing on a busy machine: CPU seconds, comparisons in turn, medians.

CPU seconds leave out waiting, but not what neighbours do to caches, clock and shared cores; that changes within
seconds. Two things measured right after one another suffer alike, so the ratio of such a pair is steadier than the
ratio of two averages.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import torch

__all__ = ["Pairs", "alternate", "clock_of", "repeat", "seconds"]

MOST_REPEATS = 60
WORTH = 1.5  # CPU seconds that are spent on a short measurement beyond its fewest repeats


@dataclass(frozen=True)
class Pairs:
    """CPU seconds of two things, measured in turn.

    Attributes
    ----------
    first, second : tuple of float
        Of equal length; entries at one position were measured right after one another.
    """

    first: tuple[float, ...]
    second: tuple[float, ...]

    @property
    def ratios(self) -> list[float]:
        """first / second of every pair, ascending."""
        return sorted(a / b for a, b in zip(self.first, self.second, strict=True))

    @property
    def ratio(self) -> float:
        """Median of the ratios."""
        return median(self.ratios)

    @property
    def spread(self) -> tuple[float, float]:
        """Lower and upper quartile of the ratios."""
        return self.ratios[len(self.ratios) // 4], self.ratios[-1 - len(self.ratios) // 4]


def clock_of(device: torch.device) -> Callable[[], float]:
    """CPU seconds of the process in all its threads; on an accelerator wall time, once its work is done."""
    if device.type == "cpu":
        return time.process_time

    def done() -> float:
        torch.cuda.synchronize(device)
        return time.perf_counter()

    return done


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """Seconds of a call."""
    start = clock()
    work()
    return clock() - start


def repeat(measure: Callable[[], float], fewest: int, worth: float = WORTH) -> list[float]:
    """Measure at least `fewest` times, and more often where that is cheap.

    Parameters
    ----------
    measure : callable
        Does the work and returns its seconds.
    fewest : int
    worth : float
        Seconds until which to go on.
    """
    taken: list[float] = []
    while len(taken) < fewest or (sum(taken) < worth and len(taken) < MOST_REPEATS):
        taken.append(measure())
    return taken


def alternate(first: Callable[[], float], second: Callable[[], float], fewest: int, worth: float = WORTH) -> Pairs:
    """Measure two things in turn, first second first second, each as in `repeat`."""
    taken: list[tuple[float, float]] = []

    def both() -> float:
        taken.append((first(), second()))
        return sum(taken[-1])

    repeat(both, fewest, worth)
    return Pairs(tuple(a for a, _ in taken), tuple(b for _, b in taken))
