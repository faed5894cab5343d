"""The results by class on the page: a table and a figure of all sites, and a table site by site."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from pfedgp_core.metrics.class_results import CLASS_METRICS
from server.report.html.headline import ends, row_estimate, worst_classes
from server.report.html.run_files import RunFiles
from server.report.html.tables import Cell, Head, Table
from server.report.html.templates import render
from server.report.interval_bars import interval_bars
from server.report.wording import MISSING, title

__all__ = ["class_section"]

MOST_CLASSES = 100  # rows of the table; the rest is in summary.json
MOST_ROWS = 300  # of sites and classes; the rest is in classes.csv
_MEANING = (
    "Each class against all others, the least sensitive first. Sensitivity is the share of the samples of the class "
    "that were found, specificity the share of all others that were not taken for it. PPV is the share of the samples "
    "taken for the class that have it, NPV of those not taken for it that do not; both hold for the mix of classes in "
    "the test data. AUROC and AUPRC do not depend on a threshold. 95 % intervals are in brackets."
)


def class_section(run: RunFiles) -> Markup | str:
    """Return the section; empty where the run has no results by class."""
    rows = worst_classes(run.summary)
    if not rows:
        return ""
    positive = str(run.settings.get("positive-class", ""))
    rows.sort(key=lambda row: row["class"] != positive)
    found = [(str(row["class"]), share) for row in rows if (share := row_estimate(row, "sensitivity"))]
    return render(
        "classes",
        text=_MEANING,
        figure=interval_bars("Sensitivity by class", "samples of the class that were found", found) if found else None,
        table=_table("Results by class, all sites together", ("class",), rows[:MOST_CLASSES], positive),
        sites=_table("Results by site and class", ("site", "class"), _by_site(run)[:MOST_ROWS], positive),
        more=max(0, len(run.site_classes) - MOST_ROWS),
    )


def _by_site(run: RunFiles) -> list[Mapping[str, Any]]:
    def rank(row: Mapping[str, Any]) -> tuple[bool, float]:
        share = row_estimate(row, "sensitivity")
        return share is None, share.value if share else 0.0

    return sorted(run.site_classes, key=rank)


def _table(caption: str, names: tuple[str, ...], rows: Sequence[Mapping[str, Any]], positive: str) -> Table:
    order = "none" if positive else "ascending"  # the positive class stands first
    heads = [Head(name, words=True, order="none") for name in names]
    heads += [Head(title(key), order=order if key == "sensitivity" else "none") for key in CLASS_METRICS]
    heads += [Head(name, order="none") for name in ("samples of the class", "all samples")]
    return Table(caption, heads, [_row(names, row, positive) for row in rows], "sortable classes")


def _row(names: tuple[str, ...], row: Mapping[str, Any], positive: str) -> list[Cell]:
    mark = " (positive)" if positive and row["class"] == positive else ""
    texts = [f"{row[name]}{mark if name == 'class' else ''}" for name in names]
    cells = [Cell(text, header=not i, kind="words", sort=text) for i, text in enumerate(texts)]
    for key in CLASS_METRICS:
        share = row_estimate(row, key)
        said = MISSING if share is None else ends(key, share)
        value, _, interval = said.partition(" (")
        small = f"({interval}" if interval else ""
        cells.append(Cell(value, sort="" if share is None else f"{share.value}", small=small))
    return cells + [Cell(f"{row[key]}", sort=f"{row[key]}") for key in ("positives", "samples")]
