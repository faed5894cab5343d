"""What a reader sees first: one number with its interval, the worst site and the worst class, and all other results."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from pfedgp_core.metrics.intervals import Estimate
from pfedgp_core.metrics.task_report import task_report
from pfedgp_core.registry import TASKS
from pfedgp_core.words import counted
from server.report.html.run_files import Row, RunFiles, as_number, judged_columns, worst_first
from server.report.html.tables import Cell, Head, Table
from server.report.wording import MISSING, capital, gain_words, measure, metric_behind, telling, title

__all__ = ["Headline", "all_results", "ends", "headline", "key_results", "row_estimate", "worst_classes"]

_TEMPERATURES = ("temperature", "model_temperature")


class Headline(NamedTuple):
    """The number, what it is, and what it is of."""

    value: str
    name: str
    details: str


def headline(run: RunFiles) -> Headline | None:
    """The accuracy of the classes that ``pfedgp predict`` names, or the error of its numbers; None without a test.

    The class that is named is the same at every temperature.
    """
    key = "accuracy" if TASKS[task_report(str(run.settings["task"])).task].classes else "rmse"
    if run.summary.get(key) is None:
        return None
    samples, sites = (
        run.summary.get("test_samples"),
        len([row for row in run.clients if as_number(row.get(key)) is not None]),
    )
    details = [f"95 % interval {said}"] if (said := _interval(key, run.summary)) else []
    if samples:
        details.append(f"{samples} test samples of {counted(sites, 'site')}" if sites else f"{samples} test samples")
    details.append("each site's own model on its own test data")
    return Headline(measure(key, run.summary[key]), title(key), "; ".join(details))


def key_results(run: RunFiles) -> list[tuple[str, str, str]]:
    """What to know beside the headline: name, value, and what belongs to it."""
    found, summary = [], run.summary
    if worst := _worst_site(run):
        found.append(("Worst site", *worst))
    classes = worst_classes(summary)
    sensitivity = row_estimate(classes[0], "sensitivity") if classes else None
    if sensitivity is not None:
        of = counted(int(classes[0]["positives"]), "sample")
        found.append(("Worst class", str(classes[0]["class"]), f"sensitivity {ends('sensitivity', sensitivity)}; {of}"))
    balanced = row_estimate(summary, "balanced_accuracy")
    if balanced is not None:
        ends_of = ends("balanced_accuracy", balanced).partition(" (")[2].rstrip(")")
        found.append(("Balanced accuracy", measure("balanced_accuracy", balanced.value), f"95 % interval {ends_of}"))
    key = "ece_at_model_temperature" if summary.get("ece_at_model_temperature") is not None else "ece"
    if summary.get(key) is not None:
        more = ["mean distance of stated probability and share of right answers, as predict states them"]
        if said := _interval(key, summary):
            more.append(f"95 % interval {said}")
        found.append(("Calibration error", measure(key, summary[key]), "; ".join(more)))
    if gain := gain_words(summary.get("initial")):
        found.append(("What joining gives", f"{gain[0]} points of accuracy", gain[1]))
    return found


def all_results(run: RunFiles) -> Table | None:
    """Every result of the summary with its interval; None without any."""
    rows = []
    for key in telling([run.summary]):
        if not (key in _TEMPERATURES or (metric_behind(key) is not None and not key.startswith("validation_"))):
            continue
        over = (run.summary.get("intervals") or {}).get(key, {}).get("over", "")
        cells = [capital(title(key)), _value(key, run.summary[key]), _interval(key, run.summary) or MISSING]
        rows.append([Cell(cells[0], header=True), Cell(cells[1]), Cell(cells[2]), Cell(over and f"other {over}")])
    for key in ("test_samples", "best_round"):
        if key in run.summary:
            blank = Cell("")
            rows.append([Cell(capital(title(key)), header=True), Cell(f"{run.summary[key]}"), blank, blank])
    heads = [Head(name) for name in ("result", "value", "95 % interval", "what may differ")]
    return Table("All results of the run", heads, rows) if rows else None


def worst_classes(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of the classes that have a sample, the least sensitive first, then the others."""
    rows = [row for row in summary.get("classes") or () if isinstance(row, dict)]
    return sorted(rows, key=lambda row: (row.get("sensitivity") is None, row.get("sensitivity") or 0.0))


def row_estimate(row: Mapping[str, Any], key: str) -> Estimate | None:
    """A number of a row with the ends of its interval, whether the row is of JSON or of CSV; None without one."""
    value, low, high = (_number(row.get(name)) for name in (key, f"{key}_low", f"{key}_high"))
    return None if value is None or low is None or high is None else Estimate(value, low, high)


def ends(key: str, share: Estimate) -> str:
    """A number with its interval, as text: ``97.0 % (95.1 to 98.5)``."""
    low, high = (measure(key, end).removesuffix(" %") for end in (share.low, share.high))
    return f"{measure(key, share.value)} ({low} to {high})"


def _worst_site(run: RunFiles) -> tuple[str, str] | None:
    judged = list(judged_columns(run.clients))
    rows: list[Row] = [row for row in worst_first(run.clients) if judged and as_number(row.get(judged[0])) is not None]
    if not rows:
        return None
    key, row = judged[0], rows[0]
    share = row_estimate(row, key)
    said = measure(key, as_number(row[key])) if share is None else ends(key, share)
    return row.get("name", ""), f"{title(key)} {said}; {row.get('n_test', MISSING)} test samples"


def _interval(key: str, summary: Mapping[str, Any]) -> str:
    found = (summary.get("intervals") or {}).get(key)
    return f"{measure(key, found['low'])} to {measure(key, found['high'])}" if found else ""


def _value(key: str, value: Any) -> str:
    if key in _TEMPERATURES:
        return MISSING if value is None else f"{value:.3g}"
    return measure(key, value) if value is None or isinstance(value, int | float) else str(value)


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) else as_number(value)
