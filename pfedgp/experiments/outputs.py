"""Writes what an experiment has found: tables and figure in its folder, and its section of a page of the docs."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfedgp.experiments.bounds_figure import bounds_figure
from pfedgp.experiments.bounds_table import Certified, bounds_csv, bounds_page, certified
from pfedgp.experiments.budgets import budgets_page, column_curves
from pfedgp.experiments.cells import Cell, Selection
from pfedgp.experiments.curves import curves_table
from pfedgp.experiments.curves_figure import curves_figure
from pfedgp.experiments.estimates import Entry, entries
from pfedgp.experiments.figure import figure
from pfedgp.experiments.folder import ExperimentFolder
from pfedgp.experiments.head import command, head_lines
from pfedgp.experiments.latex import latex_table
from pfedgp.experiments.specification import Experiment
from pfedgp.experiments.tables import csv_table, markdown_table
from pfedgp_core.errors import ArtefactError
from pfedgp_core.files.regular import read_text
from pfedgp_core.files.whole import write_whole
from server.report.drawing import Drawing

if TYPE_CHECKING:
    from pfedgp.experiments.search import Choice

__all__ = ["Outputs", "put_section"]


class Outputs:
    """The outputs of one call of the command.

    Parameters
    ----------
    folder : ExperimentFolder
    experiment : Experiment
    selection : Selection
    search : bool
        Whether hyper-parameters are searched.
    """

    def __init__(self, folder: ExperimentFolder, experiment: Experiment, selection: Selection, search: bool) -> None:
        self._folder, self._experiment, self._selection, self._search = folder, experiment, selection, search
        self._kept: dict[str, Mapping[str, Any]] = {}
        self.cells: Sequence[Cell] = selection.cells(experiment)
        self.searched: Sequence[Choice] = ()

    def result(self, cell: Cell) -> Mapping[str, Any] | None:
        """What a cell gave; one that is completed is read once."""
        if cell.name in self._kept:
            return self._kept[cell.name]
        found = self._folder.result(cell)
        if found is not None and found["status"] == "completed":
            self._kept[cell.name] = found
        return found

    def page(self) -> str:
        """The section in Markdown."""
        return self._page(self._found())

    def _found(self) -> dict[tuple[str, str], Entry]:
        return entries(self._experiment, [cell for cell in self.cells if cell.bounds is None], self.result)

    def _certified(self) -> list[Certified]:
        return certified(self._experiment, self.cells, self.result)

    def _page(self, found: Mapping[tuple[str, str], Entry]) -> str:
        head = head_lines(self._experiment, self._selection, found, self.searched)
        call = command(self._experiment, self._selection, self._search)
        curves = budgets_page(self._experiment, self.cells, self.result)
        return "\n".join(
            [markdown_table(self._experiment, found, head, call), *curves, "", *bounds_page(self._certified())]
        )

    def write_tables(self) -> None:
        """Write the tables of what there is so far."""
        found, path = self._found(), self._folder.path
        write_whole(path / "table.md", self._page(found))
        write_whole(path / "table.csv", csv_table(found))
        write_whole(path / "curves.csv", curves_table(self.cells, self.result))
        budget = f"Budget {self._selection.budget:g}." if self._selection.budget != 1 else ""
        write_whole(path / "table.tex", latex_table(self._experiment, found, budget))
        if any(cell.bounds for cell in self.cells):
            write_whole(path / "bounds.csv", bounds_csv(self._experiment, self.cells, self.result))
        if self._search:
            tried = [vars(each) for each in self.searched]
            write_whole(path / "search.json", json.dumps(tried, indent=1) + "\n")

    def write_figure(self) -> None:
        """Write the figures as SVG and PNG."""
        self._draw("figure", figure(self._experiment, self._found()))
        for column in self._selection.columns if self._experiment.curves else ():
            if curves := column_curves(self.cells, column, self.result):
                self._draw(f"curves-{column}", curves_figure(self._experiment, column, curves))
        if found := self._certified():
            self._draw("bounds", bounds_figure(self._experiment.title, found))

    def _draw(self, name: str, drawing: Drawing) -> None:
        write_whole(self._folder.path / f"{name}.svg", drawing.svg_file())
        write_whole(self._folder.path / f"{name}.png", drawing.png())


def put_section(page: Path, name: str, section: str) -> None:
    """Replace the section of an experiment in a page, or add it at the end.

    Raises
    ------
    ArtefactError
        The page has the beginning of the section without its end.
    """
    start, end = f"<!-- experiment {name} -->", f"<!-- end of experiment {name} -->"
    text = read_text(page) if page.exists() else "# Results\n"
    before, found, rest = text.partition(start)
    if found and end not in rest:
        raise ArtefactError(f"{page} has {start} without {end}: write the latter after the section.")
    rest = rest.partition(end)[2] if found else "\n"
    before = before if found else f"{text.rstrip()}\n\n"
    tidy = re.sub(r"\n{3,}", "\n\n", section).strip()
    write_whole(page, f"{before}{start}\n\n{tidy}\n\n{end}{rest}")
