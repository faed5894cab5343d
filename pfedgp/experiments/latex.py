"""The table of an experiment in LaTeX: for each column the paper's number and ours, with booktabs."""

import re
from collections.abc import Mapping

from pfedgp.experiments.estimates import Entry
from pfedgp.experiments.specification import Experiment

__all__ = ["latex_table"]

_SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$"}


def latex_table(experiment: Experiment, found: Mapping[tuple[str, str], Entry], note: str) -> str:
    """A table environment.

    Parameters
    ----------
    experiment : Experiment
    found : mapping
        By row and column.
    note : str
        End of the caption.
    """
    columns, rows = (list(dict.fromkeys(key[i] for key in found)) for i in (1, 0))
    digits = 1 if experiment.percent else 3
    titles = " & ".join(rf"\multicolumn{{2}}{{c}}{{{escaped(experiment.columns[c].title)}}}" for c in columns)
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        rf"\caption{{{escaped(f'{experiment.title}. {note}')}}}",
        rf"\begin{{tabular}}{{l{'rr' * len(columns)}}}",
        r"\toprule",
        rf"& {titles} \\",
        "method " + "& paper & ours " * len(columns) + r"\\",
        r"\midrule",
    ]
    for row in rows:
        cells = [_cells(found[row, column], digits) if (row, column) in found else "& " for column in columns]
        lines.append(rf"{escaped(experiment.rows[row].title)} & {' & '.join(cells)} \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def escaped(text: str) -> str:
    """The text, so that LaTeX shows it as it is."""
    return re.sub(r"[\\~^±&%$#_{}]", lambda found: _SPECIAL.get(found[0], f"\\{found[0]}"), text)


def _cells(entry: Entry, digits: int) -> str:
    paper = "" if entry.paper is None else _number(entry.paper.value, entry.paper.error, digits)
    ours = "not run" if entry.ours is None else _number(entry.ours.mean, entry.ours.error, digits)
    return f"{paper} & {'failed' if entry.state.startswith('failed') else ours}"


def _number(value: float, error: float | None, digits: int) -> str:
    return f"${value:.{digits}f}" + ("" if error is None else rf" \pm {error:.{digits}f}") + "$"
