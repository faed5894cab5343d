"""The validation curves of an experiment as CSV: what each run had reached, after which rounds and at which costs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pfedgp.experiments.cells import Cell
from pfedgp.experiments.result import COMPLETED
from pfedgp_core.files.csv_text import csv_text

__all__ = ["curves_table"]

_COSTS = ("round", "gradients", "bytes", "cpu")


def curves_table(cells: Sequence[Cell], result: Callable[[Cell], Mapping[str, Any] | None]) -> str:
    """A line for each evaluation of each run; gradients, bytes and CPU seconds are those of the training up to it."""
    lines: list[tuple[Cell, Mapping[str, Any]]] = []
    for cell in cells:
        given = result(cell)
        if given is not None and given["status"] == COMPLETED:
            lines += [(cell, point) for point in given.get("curve", ())]
    measured = sorted({key for _, point in lines for key in point if key not in _COSTS})
    titles = ["row", "column", "seed", "round", "gradients", "bytes", "cpu_seconds", *measured]
    rows = [[c.row, c.column, c.seed, *(_cell(p.get(key)) for key in (*_COSTS, *measured))] for c, p in lines]
    return csv_text(titles, rows)


def _cell(value: Any) -> Any:
    return "" if value is None else value
