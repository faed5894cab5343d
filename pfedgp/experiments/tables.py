"""The tables of an experiment in Markdown and as CSV."""

from collections.abc import Mapping, Sequence

from pfedgp.experiments.estimates import Entry, Estimate
from pfedgp.experiments.specification import Experiment
from pfedgp_core.files.csv_text import csv_text
from pfedgp_core.metrics.task_report import chosen_by_own
from pfedgp_core.words import cut, size

__all__ = ["csv_table", "markdown_table", "plus_minus"]

Found = Mapping[tuple[str, str], Entry]
_UNIT = ("ece", "nll")
_COSTS = ("gradients", "bytes", "cpu_seconds", "seconds")


def plus_minus(value: float, error: float | None, digits: int, sign: bool = False) -> str:
    """A number with its standard error, where there is one."""
    shown = f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"
    return shown if error is None else f"{shown} ± {error:.{max(digits, 2 if error < 0.1 else digits)}f}"


def markdown_table(experiment: Experiment, found: Found, head: Sequence[str], command: str) -> str:
    """The page of an experiment: title, head, and a table for each column."""
    place = f" ({experiment.place})" if experiment.place else ""
    lines = [f"### {experiment.title}{place}", "", "```sh", command, "```", ""]
    for line in head:
        lines += [line] if line.startswith("- ") else [line, ""]
    lines += [""] if lines[-1] else []
    for column in dict.fromkeys(column for _, column in found):
        lines += [f"#### {experiment.columns[column].title}", "", *_column(experiment, found, column), ""]
    return "\n".join(lines)


def _column(experiment: Experiment, found: Found, column: str) -> list[str]:
    """The table of a column; rows of which nothing was run are named under it."""
    every = [entry for (_, name), entry in found.items() if name == column]
    rows = [entry for entry in every if entry.results or entry.reasons]
    left = [entry.row.title for entry in every if entry not in rows]
    unrun = [f"Not run: {', '.join(left)}."] if left else []
    if not rows:
        return unrun
    digits, reported = (1 if experiment.percent else 3), any(entry.paper for entry in rows)
    unit = f"{experiment.metric.replace('_', ' ')}{', %' if experiment.percent else ''}"
    titles = ["method", *(["paper"] if reported else []), f"ours: {unit}", *(["difference"] if reported else [])]
    titles += ["own classes", "ECE", "NLL", "gradients", "sent and received", "CPU s", "round", "seeds"]
    lines = [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}"]
    for entry in rows:
        paper = entry.paper
        stated = "" if paper is None else plus_minus(paper.value, paper.error, digits)
        cells = [entry.row.title.replace("|", "/"), *([stated] if reported else [])]
        if entry.ours is None:
            told = cut(entry.state.replace("|", "/"), 160) or "no value"
            cells += [told, *([""] if reported else []), *[""] * 8]
        else:
            cells += [_text(entry.ours, digits), *([_text(entry.difference, digits, sign=True)] if reported else [])]
            cells += [_text(entry.own, digits), *[_text(entry.metric_of(f"own_{key}"), 3) for key in _UNIT]]
            cells += [_count(entry.cost("gradients")), size(entry.cost("bytes") or 0.0)]
            cells += [_count(entry.cost("cpu_seconds")), _rounds(entry), entry.state or str(len(entry.seeds))]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "ECE and NLL are over each client's own classes. Costs are means over seeds, of all clients."]
    lines += [_chosen(rows)]
    return [*lines, "", *unrun] if unrun else lines


def _chosen(rows: Sequence[Entry]) -> str:
    """What ``round`` says, with the rows whose models were chosen by other classes."""
    own = [
        entry.row.title.replace("|", "/")
        for entry in rows
        if any(chosen_by_own(result["settings"]) for result in entry.results)
    ]
    said = "`round`: of the model that was tested, the best on validation data over all classes that it knows"
    said += f"; over each client's own classes for: {', '.join(own)}" if own else ""
    return f"{said}. Few clients that change far more than the others do not decide it."


def _rounds(entry: Entry) -> str:
    """The round of the tested model, of each seed where they differ."""
    return ", ".join(map(str, dict.fromkeys(result["best_round"] for result in entry.results)))


def _text(estimate: Estimate | None, digits: int, sign: bool = False) -> str:
    return "" if estimate is None else plus_minus(estimate.mean, estimate.error, digits, sign)


def _count(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"


def csv_table(found: Found) -> str:
    """A line for each row and column; a missing number is empty."""
    measured = ("ece", "nll", "brier", "own_ece", "own_nll", "own_brier")
    titles = ["row", "column", "method", "metric", "seeds", "state", "paper", "paper_error", "ours", "ours_error"]
    titles += ["difference", "difference_error", "own_classes", "own_classes_error", *measured, *_COSTS]
    titles += ["commits"]
    lines = []
    for (row, column), entry in found.items():
        paper = (None, None) if entry.paper is None else (entry.paper.value, entry.paper.error)
        line: list[object] = [row, column, entry.row.title, entry.metric, " ".join(map(str, entry.seeds)), entry.state]
        line += [*paper, *_pair(entry.ours), *_pair(entry.difference), *_pair(entry.own)]
        line += [_pair(entry.metric_of(key))[0] for key in measured] + [entry.cost(key) for key in _COSTS]
        line += [" ".join(sorted({result["commit"] for result in entry.results}))]
        lines.append(["" if cell is None else cell for cell in line])
    return csv_text(titles, lines)


def _pair(estimate: Estimate | None) -> tuple[float | None, float | None]:
    return (None, None) if estimate is None else (estimate.mean, estimate.error)
