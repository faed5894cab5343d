"""The tables of a report: captions, headings and cells as plain text."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from pfedgp_core.config import Settings
from pfedgp_core.files.csv_text import split_names
from pfedgp_core.metrics.base import Metric
from pfedgp_core.metrics.summary import summarise
from pfedgp_core.words import few
from server.report.html.run_files import Calibration, Row, as_number, judged_columns, worst_first
from server.report.html.templates import render
from server.report.wording import MISSING, measure, number, percent, telling, title

__all__ = [
    "MOST_CLASSES",
    "Cell",
    "Head",
    "Table",
    "certificate_table",
    "client_table",
    "confusion_table",
    "settings_table",
    "temperature_table",
    "value_table",
]

# Bounds of a certificate, and what they are of.
_BOUNDS = {
    "deployed": "error of its classifier, at most",
    "on_the_way": "error of those before it, at most",
    "vote": "error of a vote, at most",
    "wrong_probability": "probability of a wrong class, at most",
    "gibbs": "error of a drawn classifier, at most",
    "gibbs_vote": "error of their vote, at most",
}
_SOMETIMES = frozenset({*_BOUNDS.values(), "counts"})  # columns of certificates that have them
_TEXT_COLUMNS = ("name", "classes", "method", "counts", "conditions")
_DESCRIBED = ("classes", "n_train", "n_test", "rounds_trained", "last_trained_round")
_WHOLE = {"n_train", "n_test", "rounds_trained", "last_trained_round", "n", "seed"}
_LONG = 24  # characters, from which on a cell gets more room before its text breaks
_NONE = "\N{MIDDLE DOT}"  # of samples, in the confusion table
MOST_CLASSES = 20  # of the confusion table, and of a client's row; more do not fit a page


@dataclass(frozen=True)
class Head:
    """The heading of a column; with an order (``none``, ``ascending``, ``descending``) a click on it sorts."""

    text: str
    words: bool = False
    order: str = ""


@dataclass(frozen=True)
class Cell:
    """A cell: its text, whether it names its row, its CSS classes, what it is sorted by, a share that shades it."""

    text: str
    header: bool = False
    kind: str = ""
    sort: str | None = None
    share: int | None = None
    small: str = ""


@dataclass(frozen=True)
class Table:
    """A table of one kind (a CSS class, or none); the caption is not shown where a heading says the same."""

    caption: str
    heads: Sequence[Head]
    rows: Sequence[Sequence[Cell]]
    kind: str = ""
    captioned: bool = True

    def html(self) -> Markup:
        """Return it in a frame of its own."""
        told = {"captioned": self.captioned, "kind": self.kind}
        return render("table", caption=self.caption, heads=self.heads, rows=self.rows, **told)


def client_table(rows: Sequence[Row]) -> Table:
    """Results of every client, worst first; a click on a heading sorts.

    What was measured comes right after the name, so that a narrow screen shows it without scrolling.
    """
    told = telling(rows)
    described = [key for key in told if key in _DESCRIBED]
    columns = ["name", *(key for key in told if key not in ("name", *described)), *described]
    body = [[_client_cell(key, row.get(key, "")) for key in columns] for row in worst_first(rows)]
    order = {key: "ascending" if metric.better == "higher" else "descending" for key, metric in _first(rows)}
    return _table("Results on each site's own test data", columns, body, sortable=True, order=order)


def certificate_table(certificates: Sequence[Mapping[str, Any]]) -> Table:
    """Guarantees of the clients, as ``pfedgp certify --json`` prints them; of other forms all fields are shown."""
    rows = [_bounds(certificate) if "deployed" in certificate else certificate for certificate in certificates]
    # Conditions are the longest, and come last.
    told = dict.fromkeys(str(key) for row in rows for key in row if key not in _SOMETIMES or row[key] is not None)
    columns = sorted(told, key="conditions".__eq__)
    body = [[_certificate_cell(key, row.get(key)) for key in columns] for row in rows]
    return _table("Certificates", columns, body, sortable=True)


def temperature_table(calibration: Calibration) -> Table:
    """Calibration at each temperature of the grid and at the model's, pooled; the two that were chosen are marked."""
    model, body = calibration.model_temperature, []
    rows = {t: (summarise(validation)["ece"], test) for t, validation, test in calibration.temperatures}
    if model is not None:
        rows.setdefault(model, (None, calibration.at_model_temperature))
    for t, (validation, test) in sorted(rows.items()):
        numbers = summarise(test)
        cells = [_cell(number(validation)), *(_cell(number(numbers[m])) for m in ("ece", "mce", "nll"))]
        chosen = ("smallest ECE", calibration.temperature), ("the model's", model)
        marks = [mark for mark, of in chosen if t == of]
        body.append([_cell(_rounded(t) + (f" ({', '.join(marks)})" if marks else ""), header=True), *cells])
    columns = ["temperature", "validation_ece", "test_ece", "test_mce", "test_nll"]
    return _table("Calibration by temperature, all sites together", columns, body)


def _rounded(value: float) -> str:
    """Three digits, and no exponent below a million."""
    return f"{float(f'{value:.3g}'):g}"


def confusion_table(calibration: Calibration, positive: str = "") -> Table:
    """Who was taken for whom: the whole matrix where it fits a page, otherwise the most frequent mistakes.

    Of a `positive` class, which is worse to miss than to suspect, the two kinds of mistakes have colours of their own.
    """
    names = calibration.class_names
    counts = {(true, predicted): n for true, predicted, n in calibration.confusion}
    totals: Counter[int] = Counter()
    for (true, _), n in counts.items():
        totals[true] += n
    if len(names) > MOST_CLASSES:
        mistakes = sorted((-n, pair) for pair, n in counts.items() if pair[0] != pair[1])[:MOST_CLASSES]
        rows = [
            [
                _cell(names[true], header=True),
                _cell(names[predicted]),
                _cell(f"{-n}"),
                _cell(percent(-n / totals[true])),
            ]
            for n, (true, predicted) in mistakes
        ]
        heads = ["true_class", "predicted_class", "samples", "share_of_true_class"]
        return _table("The most frequent mistakes", heads, rows)
    body = []
    for true, name in enumerate(names):
        row = [_cell(name, header=True)]
        for predicted in range(len(names)):
            n = counts.get((true, predicted), 0)
            shade = round(12 + 43 * n / totals[true]) if n else 0
            role = "accent" if true == predicted else "warn"
            if positive in names and true != predicted:
                role = "missed" if name == positive else "caution" if names[predicted] == positive else "other"
            row.append(Cell(f"{n or _NONE}", kind=role if n else "", share=shade if n else None))
        body.append([*row, _cell(f"{totals[true]}")])
    classes = [Head(name) for name in ["true \\ predicted", *names, "samples"]]
    return Table("Test samples by true class (rows) and predicted class (columns)", classes, body, "confusion")


def settings_table(settings: Mapping[str, Any]) -> Table:
    """All settings; those that differ from the default are marked, so that they are found."""
    defaults = Settings().to_run_config()
    rows = []
    for key, value in settings.items():
        changed = key in defaults and defaults[key] != value
        former = f"(default {_setting(defaults[key])})" if changed else ""
        rows.append([_cell(key, header=True), Cell(_setting(value), kind="changed" if changed else "", small=former)])
    return _table("Settings of the run", ["setting", "value"], rows)


def value_table(caption: str, values: Mapping[str, str]) -> Table:
    """Two columns: what, and how much."""
    return _table(caption, ["quantity", "value"], [[_cell(k, header=True), _cell(v)] for k, v in values.items()])


def _first(rows: Sequence[Row]) -> list[tuple[str, Metric]]:
    """The column that the table is ordered by, with its metric."""
    return list(judged_columns(rows).items())[:1]


def _client_cell(key: str, text: str) -> Cell:
    value = as_number(text)
    if key in _TEXT_COLUMNS:
        shown = few(split_names(text), MOST_CLASSES) if key == "classes" else text
        return _cell(shown, header=key == "name", sort=shown, words=True)
    if value is None:
        return _cell(text or MISSING, sort="")
    return _cell(f"{value:.0f}" if key in _WHOLE else measure(key, value), sort=repr(value))


def _bounds(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """Whose certificate it is, its bounds, rounded upwards, and under which conditions they hold."""
    row: dict[str, Any] = {"name": certificate.get("site")}
    row |= {key: certificate.get(key) for key in ("classes", "method", "n", "delta")}
    row["counts"] = "groups" if certificate.get("counts") == "groups" else None
    for key, head in _BOUNDS.items():
        found = certificate.get(key)
        bound = found.get("bound") if isinstance(found, Mapping) else None
        row[head] = f"{math.ceil(bound * 1e4) / 1e2:.2f} %" if isinstance(bound, int | float) else None
    return row | {"conditions": certificate.get("conditions")}


def _certificate_cell(key: str, value: Any) -> Cell:
    if isinstance(value, bool) or not isinstance(value, int | float):
        listed = "; ".join(str(each).rstrip(".") for each in value) if isinstance(value, list | tuple) else str(value)
        return _cell(
            MISSING if value is None else listed, header=key == "name", sort=listed, words=key in _TEXT_COLUMNS
        )
    return _cell(f"{value}" if key in _WHOLE else f"{value:.4g}", sort=repr(value))


def _setting(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value) or '""'


def _cell(text: str, header: bool = False, sort: str | None = None, words: bool = False) -> Cell:
    kind = f"words{' long' if len(text) > _LONG else ''}" if words else ""
    return Cell(text, header, kind, sort)


def _table(
    caption: str,
    columns: Iterable[str],
    body: Sequence[Sequence[Cell]],
    sortable: bool = False,
    order: Mapping[str, str] | None = None,
) -> Table:
    heads = [
        Head(title(key), key in _TEXT_COLUMNS, (order or {}).get(key, "none") if sortable else "") for key in columns
    ]
    return Table(caption, heads, body, "sortable" if sortable else "")
