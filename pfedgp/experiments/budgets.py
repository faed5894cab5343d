"""What the rows of an experiment have reached at equal rounds, equal bytes and equal CPU seconds."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pfedgp.experiments.cells import Cell
from pfedgp.experiments.estimates import Estimate
from pfedgp.experiments.result import COMPLETED
from pfedgp.experiments.specification import Experiment
from pfedgp.experiments.tables import plus_minus
from pfedgp_core.words import size

__all__ = ["AXES", "MEASURES", "Curve", "at_budget", "budgets_page", "column_curves", "common_budget"]

AXES = {"round": "rounds", "bytes": "bytes", "cpu": "CPU seconds"}
MEASURES = {"accuracy": "accuracy, %", "nll": "NLL"}
Results = Callable[[Cell], Mapping[str, Any] | None]


@dataclass(frozen=True)
class Curve:
    """The evaluations of one run.

    Attributes
    ----------
    row : str
    seed : int
    points : tuple of mapping
        With the costs of `AXES`, ascending, and measures on validation data.
    """

    row: str
    seed: int
    points: tuple[Mapping[str, Any], ...]

    def measured(self, axis: str, measure: str) -> list[tuple[float, float]]:
        """Costs and values of the evaluations that have one; over own classes where the run tells these apart."""
        values = [(float(p[axis]), p.get(f"own_{measure}", p.get(measure))) for p in self.points]
        return [(cost, float(value)) for cost, value in values if value is not None]


def column_curves(cells: Sequence[Cell], column: str, result: Results) -> list[Curve]:
    """The curves of a column's runs; a row that tests another's model has none."""
    found = []
    for cell in cells:
        given = result(cell) if cell.column == column and not cell.of else None
        if given is not None and given["status"] == COMPLETED and given["curve"]:
            found.append(Curve(cell.row, cell.seed, tuple(given["curve"])))
    return found


def common_budget(curves: Iterable[Curve], axis: str) -> float | None:
    """The largest cost that all runs have reached; a run without any, which none can equal, does not count."""
    ends = [end for curve in curves if (end := float(curve.points[-1][axis])) > 0]
    return min(ends) if ends else None


def at_budget(points: Sequence[tuple[float, float]], budget: float) -> float | None:
    """The value at a cost, on the line between the evaluations before and after it; None before the first one."""
    costs = [cost for cost, _ in points]
    after = bisect_left(costs, budget * (1 - 1e-12))
    if after == len(points) or (after == 0 and costs[0] > budget * (1 + 1e-12)):
        return None
    if after == 0 or costs[after] <= budget:
        return points[after][1]
    (x0, y0), (x1, y1) = points[after - 1], points[after]
    return y0 + (y1 - y0) * (budget - x0) / (x1 - x0)


def budgets_page(experiment: Experiment, cells: Sequence[Cell], result: Results) -> list[str]:
    """A section in Markdown for each column; no lines where the experiment wants no curves, or none is there."""
    lines = list[str]()
    for column in dict.fromkeys(cell.column for cell in cells) if experiment.curves else ():
        curves = column_curves(cells, column, result)
        if curves:
            lines += [f"#### {experiment.columns[column].title}: at equal costs", "", *_table(experiment, curves), ""]
    if lines:
        lines.append(
            "On validation data, over each client's own classes. Bytes and CPU seconds are those of the training "
            "alone. Each budget is the largest that all runs of the column have reached; between two evaluations a "
            "value is read off the straight line between them. A run whose first evaluation comes after the budget has "
            "none."
        )
    return lines


def _table(experiment: Experiment, curves: Sequence[Curve]) -> list[str]:
    budgets = {axis: common_budget(curves, axis) for axis in AXES}
    known = {axis: budget for axis, budget in budgets.items() if budget is not None}
    titles = [f"{_budget(axis, budget)}: {title}" for axis, budget in known.items() for title in MEASURES.values()]
    lines = [f"| method | {' | '.join(titles)} | seeds |", f"|---|{'---|' * len(titles)}---|"]
    for row in dict.fromkeys(curve.row for curve in curves):
        own = [curve for curve in curves if curve.row == row]
        cells = [_reached(own, axis, measure, budget) for axis, budget in known.items() for measure in MEASURES]
        title = experiment.rows[row].title.replace("|", "/")
        lines.append(f"| {title} | {' | '.join(cells)} | {len(own)} |")
    return lines


def _budget(axis: str, budget: float) -> str:
    if axis == "bytes":
        return size(budget)
    return f"{budget:.0f} {AXES[axis]}"


def _reached(curves: Sequence[Curve], axis: str, measure: str, budget: float) -> str:
    if not any(curve.points[-1][axis] for curve in curves):
        return "none spent"
    found = Estimate.of([at_budget(curve.measured(axis, measure), budget) for curve in curves])
    if found is None:
        return "no value"
    scale, digits = (100.0, 1) if measure == "accuracy" else (1.0, 3)
    error = None if found.error is None else scale * found.error
    return plus_minus(scale * found.mean, error, digits)
