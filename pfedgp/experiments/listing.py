"""What experiments there are, and what one of them holds, as text."""

from collections.abc import Mapping
from pathlib import Path

from pfedgp.experiments.cells import Selection
from pfedgp.experiments.reading import read_experiment
from pfedgp.experiments.specification import Experiment, Flat
from pfedgp_core.errors import ConfigError
from pfedgp_core.words import counted

__all__ = ["experiment_text", "experiments_text"]


def experiments_text(known: Mapping[str, Path]) -> str:
    """A line for each experiment; one whose file is broken says why."""
    width = max(map(len, known), default=0)
    lines = []
    for name, path in known.items():
        try:
            each = read_experiment(path)
        except ConfigError as error:
            lines.append(f"{name:<{width}}  {error}")
            continue
        place = f"{each.place}: " if each.place else ""
        size = ", ".join(counted(len(getattr(each, noun + "s")), noun) for noun in ("row", "column", "seed"))
        lines.append(f"{name:<{width}}  {place}{each.title} ({size})")
    return "\n".join(lines)


def experiment_text(experiment: Experiment, selection: Selection) -> str:
    """Rows, columns, grids and the number of runs."""
    preset = f"preset {experiment.preset}, " if experiment.preset else ""
    lines = [experiment.title, "", f"all: {preset}{_words(experiment.settings)}", "", "columns:"]
    lines += [f"  {name:<16} {each.title}: {_words(each.settings)}" for name, each in experiment.columns.items()]
    lines += ["", "rows:"]
    for name, row in experiment.rows.items():
        lines.append(f"  {name:<16} {row.title}: {_words(row.settings)}")
        lines += [f"  {'':<16} at {column}: {_words(flat)}" for column, flat in row.at.items()]
        lines += [f"  {'':<16} grid: {key} = {', '.join(map(str, values))}" for key, values in row.grid.items()]
    cells, searched = selection.cells(experiment), selection.search_cells(experiment)
    rounds = sum(cell.settings.rounds for cell in cells)
    runs, more = counted(len(cells), "run"), counted(len(searched), "run")
    lines += ["", f"{runs}, {counted(rounds, 'round')} in all; with --search {more} more."]
    return "\n".join(lines)


def _words(flat: Flat) -> str:
    return ", ".join(f"{key} = {value}" for key, value in flat.items()) or "as by default"
