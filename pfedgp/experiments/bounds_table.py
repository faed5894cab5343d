"""The bounds of an experiment against the errors: a point for each novel client, size and seed; its tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from pfedgp.experiments.cells import Cell
from pfedgp.experiments.result import COMPLETED
from pfedgp.experiments.specification import Experiment
from pfedgp_core.files.csv_text import csv_text
from pfedgp_core.words import counted, cut, few

__all__ = ["RISKS", "Certified", "bounds_csv", "bounds_page", "certified"]

RISKS = {"gibbs": "Gibbs classifier", "wrong_probability": "probability of wrong classes", "deployed": "answers"}
Results = Callable[[Cell], Mapping[str, Any] | None]


@dataclass(frozen=True)
class Certified:
    """What the cells of a row with bounds gave at a column.

    Attributes
    ----------
    row, column : str
        Titles.
    delta : float
    points : tuple of mapping
        See `pfedgp.experiments.bounds.bound_points`; each with its ``seed``.
    missing : tuple of str
        Why seeds have none.
    """

    row: str
    column: str
    delta: float
    points: tuple[Mapping[str, Any], ...]
    missing: tuple[str, ...]

    @property
    def known(self) -> list[Mapping[str, Any]]:
        """The points that have a certificate."""
        return [point for point in self.points if point["bounds"] is not None]


def certified(experiment: Experiment, cells: Sequence[Cell], result: Results) -> list[Certified]:
    """What rows with bounds gave, by row and column; empty where no row has any."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        if cell.bounds:
            groups.setdefault((cell.row, cell.column), []).append(cell)
    found = []
    for (row, column), members in groups.items():
        points, missing = list[Mapping[str, Any]](), list[str]()
        for cell in members:
            given = result(cell)
            if given is not None and given["status"] == COMPLETED:
                points += [{"seed": cell.seed, **point} for point in given["points"]]
            else:
                missing.append("not run" if given is None else f"failed: {given['reason']}")
        bounds = experiment.rows[row].bounds
        assert bounds is not None
        titles = experiment.rows[row].title, experiment.columns[column].title
        found.append(Certified(*titles, bounds.delta, tuple(points), tuple(missing)))
    return found


def bounds_page(found: Sequence[Certified]) -> list[str]:
    """A section in Markdown; no lines where there are no bounds."""
    if not found:
        return []
    risks = [f"{title}: error, bound" for title in RISKS.values()]
    titles = ["row", "part of the samples", "samples", "points", *risks, "paper's estimate", "bound below error"]
    lines = ["#### Bounds against errors", "", f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}"]
    for each in found:
        where = f"{each.row}, {each.column}".replace("|", "/")
        if not each.points:
            told = cut("; ".join(dict.fromkeys(each.missing)).replace("|", "/"), 160)
            lines.append(f"| {where} | {told} |{' |' * (len(titles) - 2)}")
        shares = sorted({point["share"] for point in each.points})
        lines += [f"| {where} | {' | '.join(_cells(each, share))} |" for share in shares]
    return [*lines, "", *_words(found)]


def _cells(each: Certified, share: float) -> list[str]:
    points = [point for point in each.points if point["share"] == share]
    known = [point for point in points if point["bounds"] is not None]
    sizes = sorted({point["n"] for point in points})
    shown = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    cells = [f"{share:g}", shown, str(len(known))]
    if not known:
        return [*cells, *["refused"] * len(RISKS), "", ""]
    for key in RISKS:
        error, bound = (fmean(point[what][key] for point in known) for what in ("errors", "bounds"))
        cells.append(f"{error:.3f}, {bound:.3f}")
    paper = [point["paper"] for point in known if point["paper"] is not None]
    below = sum(point["bounds"][key] < point["errors"][key] for point in known for key in RISKS)
    return [*cells, f"{fmean(paper):.3f}" if paper else "", f"{below} of {len(known) * len(RISKS)}"]


def _words(found: Sequence[Certified]) -> list[str]:
    deltas = ", ".join(f"{delta:g}" for delta in sorted({each.delta for each in found}))
    tested = sorted({point["tested"] for each in found for point in each.points})
    lines = []
    if tested:
        size = f"{tested[0]}" if len(tested) == 1 else f"{tested[0]} to {tested[-1]}"
        lines.append(
            "Means over novel clients; a point is a client at one size, with a certificate of its own at delta "
            f"{deltas}. Errors are those on {size} samples of the client that nothing has used (test and validation), "
            "so each has a sampling error of its own. Samples of a client are drawn at random, and smaller parts are "
            "in larger ones. The paper's estimate is for the Gibbs classifier and bounds nothing (docs/certificate.md)."
        )
    refused = [f"{p['client']}, {p['n']} samples: {p['refused']}" for e in found for p in e.points if p["refused"]]
    if refused:
        lines += ["", f"{counted(len(refused), 'certificate')} refused: {few(refused, 2)}"]
    return lines


def bounds_csv(experiment: Experiment, cells: Sequence[Cell], result: Results) -> str:
    """A line for each point."""
    plain = ["client", "share", "n", "tested"]
    measures = [(what, key) for key in RISKS for what in ("errors", "bounds")]
    titles = ["row", "column", "seed", *plain, *(f"{key}_{what[:-1]}" for what, key in measures)]
    lines = []
    for each in certified(experiment, cells, result):
        for point in each.points:
            numbers = ["" if point[what] is None else point[what][key] for what, key in measures]
            paper = "" if point["paper"] is None else point["paper"]
            line = [each.row, each.column, point["seed"], *(point[key] for key in plain), *numbers]
            lines.append([*line, paper, point["refused"]])
    return csv_text([*titles, "paper_estimate", "refused"], lines)
