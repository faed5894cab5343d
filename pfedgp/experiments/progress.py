"""What an experiment says while it runs: a line a cell, how far the running ones are, and the time that is left."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from pfedgp.experiments.cells import Cell
from pfedgp.experiments.result import COMPLETED
from server.report.wording import duration, measure, shortened

__all__ = ["Progress"]

EVERY = 30.0  # seconds between lines about running cells


class Progress:
    """Prints the course of a call of the command.

    Parameters
    ----------
    cells : sequence of Cell
        That are not done yet.
    done : int
        That are done before this call.
    metric : str
        Shown of each cell.
    """

    def __init__(self, cells: Sequence[Cell], done: int, metric: str) -> None:
        self._total, self._done, self._metric = len(cells) + done, done, metric
        self._weights = {cell.name: cell.settings.rounds for cell in cells}
        self._over = 0.0  # rounds of this call's cells that have ended
        self._began = self._told = time.monotonic()

    def ended(self, cell: Cell, result: Mapping[str, Any], seconds: float) -> None:
        """Say what a cell gave."""
        self._done += 1
        self._over += self._weights[cell.name]
        if result["status"] == COMPLETED:
            cpu = duration(result["costs"]["cpu_seconds"])
            told = f"{self._metric} {measure(self._metric, result['metrics'].get(self._metric))}, {cpu} of clients' CPU"
        else:
            told = f"failed: {shortened(result['reason'].rstrip('.'), 300)}"
        print(f"[{self._done}/{self._total}] {cell.name}: {told}, {duration(seconds)}{self._left(0.0)}", flush=True)
        self._told = time.monotonic()

    def running(self, rounds: Mapping[Cell, int]) -> None:
        """Say, now and then, how far cells are.

        Parameters
        ----------
        rounds : mapping
            Rounds that are done, by cell.
        """
        if not rounds or time.monotonic() - self._told < EVERY:
            return
        self._told = time.monotonic()
        cells = ", ".join(f"{cell.name} {n} of {cell.settings.rounds} rounds" for cell, n in rounds.items())
        print(f"[{self._done}/{self._total}] running: {cells}{self._left(float(sum(rounds.values())))}", flush=True)

    def _left(self, under_way: float) -> str:
        """The time that is left, if rounds cost what they have cost so far."""
        over, whole = self._over + under_way, float(sum(self._weights.values()))
        if not over or over >= whole:
            return ""
        seconds = (time.monotonic() - self._began) * (whole - over) / over
        return f"; about {duration(round(seconds))} left"
