"""The numbers of a table: for each row and column the mean over seeds, its standard error, and the difference."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from pfedgp.experiments.cells import Cell
from pfedgp.experiments.result import COMPLETED
from pfedgp.experiments.specification import Column, Experiment, Reported, Row

__all__ = ["Entry", "Estimate", "entries"]

Results = Callable[[Cell], Mapping[str, Any] | None]


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds.

    Attributes
    ----------
    mean : float
    error : float or None
        Its standard error, the deviation over the root of the number of seeds; None of a single seed.
    """

    mean: float
    error: float | None

    @classmethod
    def of(cls, values: Sequence[float | None]) -> "Estimate | None":
        """The estimate of values, without those that do not exist; None of none."""
        known = [value for value in values if value is not None]
        if not known:
            return None
        return cls(fmean(known), stdev(known) / math.sqrt(len(known)) if len(known) > 1 else None)


@dataclass(frozen=True)
class Entry:
    """A row at a column.

    Attributes
    ----------
    row : Row
    column : Column
    paper : Reported or None
    seeds : tuple of int
        Of which there are results.
    wanted : int
        Seeds that were asked for.
    reasons : tuple of str
        Why others failed.
    results : tuple of mapping
    scale : float
        100 where the experiment's metric is shown in percent.
    metric : str
    """

    row: Row
    column: Column
    paper: Reported | None
    seeds: tuple[int, ...]
    wanted: int
    reasons: tuple[str, ...]
    results: tuple[Mapping[str, Any], ...]
    scale: float
    metric: str

    def metric_of(self, key: str, scale: float = 1.0) -> Estimate | None:
        """A number of ``summary.json``; None where no result has it."""
        values = [each["metrics"].get(key) for each in self.results]
        return Estimate.of([None if value is None else scale * value for value in values])

    @property
    def ours(self) -> Estimate | None:
        """The metric that is compared, in the paper's unit."""
        return self.metric_of(self.metric, self.scale)

    @property
    def own(self) -> Estimate | None:
        """The same over each client's own classes alone."""
        group, dot, key = self.metric.rpartition(".")
        if key.startswith("own_"):
            return self.ours
        return self.metric_of(f"{group}{dot}own_{key}", self.scale)

    def cost(self, key: str) -> float | None:
        """The mean of a cost over seeds: ``gradients``, ``bytes`` both ways, ``cpu_seconds``, ``seconds``."""
        keys = ("bytes_sent", "bytes_received") if key == "bytes" else (key,)
        found = Estimate.of([sum(each["costs"][k] for k in keys) for each in self.results])
        return None if found is None else found.mean

    @property
    def difference(self) -> Estimate | None:
        """Ours minus the paper's; its error where both have one."""
        if self.ours is None or self.paper is None:
            return None
        errors = (self.ours.error, self.paper.error)
        joint = None if None in errors else math.hypot(*[error or 0.0 for error in errors])
        return Estimate(self.ours.mean - self.paper.value, joint)

    @property
    def state(self) -> str:
        """How complete it is, in words; empty where every seed has a result."""
        if self.reasons and not self.results:
            return f"failed: {self.reasons[0]}"
        if not self.results:
            return "not run"
        return "" if len(self.seeds) >= self.wanted else f"{len(self.seeds)} of {self.wanted} seeds"


def entries(experiment: Experiment, cells: Sequence[Cell], result: Results) -> dict[tuple[str, str], Entry]:
    """The numbers of each row and column of the cells.

    Parameters
    ----------
    experiment : Experiment
    cells : sequence of Cell
        Of the table, with all wanted seeds.
    result : callable
        What a cell gave; None before it has ended.
    """
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.row, cell.column), []).append(cell)
    found = {}
    for (row, column), members in groups.items():
        given = [(cell, each) for cell in members if (each := result(cell)) is not None]
        completed = [(cell, each) for cell, each in given if each["status"] == COMPLETED]
        found[row, column] = Entry(
            experiment.rows[row],
            experiment.columns[column],
            experiment.rows[row].paper.get(column),
            tuple(cell.seed for cell, _ in completed),
            len(members),
            tuple(each["reason"] for _, each in given if each["status"] != COMPLETED),
            tuple(each for _, each in completed),
            100.0 if experiment.percent else 1.0,
            experiment.metric,
        )
    return found
