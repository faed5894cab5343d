"""Chooses hyper-parameters on validation data: every row may try equally many candidates, in equally many rounds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pfedgp.experiments.cells import Cell, Selection
from pfedgp.experiments.result import COMPLETED
from pfedgp.experiments.specification import Experiment, Flat

__all__ = ["Choice", "choices", "chosen"]

Results = Callable[[Cell], Mapping[str, Any] | None]


@dataclass(frozen=True)
class Choice:
    """What a search has found for a row.

    Attributes
    ----------
    row, column : str
        Where it was searched.
    tried : list
        Each candidate with the score of its best model on validation data; None where its run failed or is missing.
    best : dict or None
        The candidate with the best score, the first of several; None before every run has ended, or if all failed.
    """

    row: str
    column: str
    tried: list[tuple[Flat, float | None]]
    best: Flat | None


def choices(experiment: Experiment, selection: Selection, result: Results) -> list[Choice]:
    """What the runs of the search say, by row and column of the search."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in selection.search_cells(experiment):
        groups.setdefault((cell.row, cell.column), []).append(cell)
    return [_choice(experiment, cells, result) for cells in groups.values()]


def _choice(experiment: Experiment, cells: Sequence[Cell], result: Results) -> Choice:
    row, column = cells[0].row, cells[0].column
    found = [result(cell) for cell in cells]
    scores = [each["validation"] if each is not None and each["status"] == COMPLETED else None for each in found]
    tried = list(zip(experiment.rows[row].candidates, scores, strict=True))
    ended = [(candidate, score) for candidate, score in tried if score is not None]
    if not ended or any(each is None for each in found):
        return Choice(row, column, tried, None)
    larger = any(each is not None and each.get("better") == "larger" for each in found)
    best = max(ended, key=lambda pair: pair[1] if larger else -pair[1])
    return Choice(row, column, tried, best[0])


def chosen(experiment: Experiment, selection: Selection, found: Sequence[Choice]) -> dict[tuple[str, str], Flat]:
    """The hyper-parameters of the table's cells, by row and column."""
    best = {(each.row, each.column): each.best for each in found if each.best is not None}
    shared = {row: values for (row, column), values in best.items() if column == experiment.search.column}
    return {
        (row, column): values
        for row in dict.fromkeys(experiment.rows[row].of or row for row in selection.rows)
        for column in selection.columns
        if (values := best.get((row, column), shared.get(row))) is not None
    }
