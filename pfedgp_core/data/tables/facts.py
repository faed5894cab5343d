"""What each column of a table holds: kind, range, distinct and missing values, for a person who looks at the data."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pfedgp_core.data.tables.cells import is_boolean
from pfedgp_core.data.tables.encode import days, limit_of
from pfedgp_core.data.tables.raw import RawTable
from pfedgp_core.words import cut

__all__ = ["SHOWN", "ColumnFacts", "column_facts", "facts_lines", "sentinel_values"]

SHOWN = 200  # columns
NARROW = 24  # characters of a cell of the list
VALUES = 3  # texts of a range
IDS_FROM = 10  # rows from which a column without any repeated value may be an id
_STEP = 1e-9


@dataclass(frozen=True)
class ColumnFacts:
    """One column.

    Attributes
    ----------
    name : str
    kind : str
        ``number``, ``whole number``, ``true/false``, ``text``, ``date``, ``limits``, ``mixed``, ``empty`` or
        ``class``.
    span : str
        The least and the greatest number, and the first texts.
    distinct, missing : int
        Distinct values, gaps not counted; gaps.
    feature : bool
        Whether it is one.
    notes : tuple of str
        What a person should look at, each as the end of "The column 'x' ...".
    """

    name: str
    kind: str
    span: str
    distinct: int
    missing: int
    feature: bool
    notes: tuple[str, ...] = ()


def column_facts(
    table: RawTable, labels: Sequence[str] | None, label: str | None, features: Sequence[str]
) -> tuple[ColumnFacts, ...]:
    """The facts of all columns that were read, and of that of the labels, in regression too.

    Parameters
    ----------
    table : RawTable
        N rows.
    labels : sequence of str, length N, or None
    label : str or None
        Name of their column.
    features : sequence of str
        Columns that are features.
    """
    facts = [_facts(table, i, labels, name in set(features)) for i, name in enumerate(table.names)]
    if labels is not None and label is not None:
        known = [text for text in labels if text]
        facts.append(
            ColumnFacts(label, "class", _span(dict.fromkeys(known)), len(set(known)), len(labels) - len(known), False)
        )
    return tuple(facts)


def facts_lines(facts: Sequence[ColumnFacts]) -> list[str]:
    """A table of the facts, a line a column."""
    head = ("column", "kind", "range", "distinct", "missing")
    rows = [
        (
            _cell(fact.name),
            fact.kind + ("" if fact.feature or fact.kind == "class" else ", left out"),
            fact.span,
            f"{fact.distinct:,}",
            f"{fact.missing:,}",
        )
        for fact in facts[:SHOWN]
    ]
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    lines = [
        "  ".join([*(row[i].ljust(widths[i]) for i in (0, 1, 2)), *(row[i].rjust(widths[i]) for i in (3, 4))]).rstrip()
        for row in (head, *rows)
    ]
    return lines + ([f"and {len(facts) - SHOWN:,} more columns"] if len(facts) > SHOWN else [])


def _facts(table: RawTable, column: int, labels: Sequence[str] | None, feature: bool) -> ColumnFacts:
    name, values = table.names[column], table.numbers[:, column]
    texts = table.texts.get(column)
    numbers = values[~np.isnan(values)]
    levels = np.unique(numbers)
    words = () if texts is None else texts.values
    missing = int(table.missing(column).sum())
    numeric = f"{levels[0]:g} to {levels[-1]:g}" if len(levels) else ""
    span = ", ".join(filter(None, (numeric, _span(words))))
    distinct = len(levels) + len(words)
    notes = []
    if distinct <= 1 and len(table) > 1:
        notes.append("is empty: leave it out." if not distinct else "has one value only: leave it out.")
    elif len(table) >= IDS_FROM and _is_id(levels, words, distinct, len(table)):
        notes.append("numbers or names the rows, as an id does: leave it out with --drop, or give --id-column.")
    elif labels is not None and _tells(table, column, labels):
        notes.append("tells the class exactly: leave it out if it was made from the class.")
    notes += [
        f"has {value:g} in {int((values == value).sum())} of {len(table)} rows, far from its other values: if it "
        "stands for a gap, name it in the codes of a rule."
        for value in sentinel_values(levels)
    ]
    return ColumnFacts(name, _kind(levels, words), span, distinct, missing, feature, tuple(notes))


def _kind(levels: np.ndarray, words: Sequence[str]) -> str:
    if words:
        if all(is_boolean(word) is not None for word in words):
            return "mixed" if len(levels) else "true/false"
        if all(not math.isnan(days(word)) for word in words):
            return "mixed" if len(levels) else "date"
        if all(not math.isnan(limit_of(word)) for word in words):
            return "limits"
        return "mixed" if len(levels) else "text"
    if not len(levels):
        return "empty"
    return "whole number" if (np.isfinite(levels) & (levels == np.round(levels))).all() else "number"


def _is_id(levels: np.ndarray, words: Sequence[str], distinct: int, rows: int) -> bool:
    """Whether no two rows have the same value, and numbers count up by one."""
    if distinct < rows:
        return False
    if words:
        return not len(levels) and any(math.isnan(days(word)) and math.isnan(limit_of(word)) for word in words)
    return bool((np.abs(np.diff(levels) - 1) < _STEP).all())


def _tells(table: RawTable, column: int, labels: Sequence[str]) -> bool:
    """Whether each value belongs to one class, and each class has one value."""
    texts, pairs = table.texts.get(column), set()
    of = {} if texts is None else dict(zip(texts.rows.tolist(), texts.codes.tolist(), strict=True))
    for row, (number, label) in enumerate(zip(table.numbers[:, column].tolist(), labels, strict=True)):
        value = ("text", of[row]) if row in of else ("gap" if math.isnan(number) else number)
        pairs.add((value, label))
        if len(pairs) > len(labels) / 2:
            return False
    classes = len({label for _, label in pairs})
    return 1 < classes == len(pairs) == len({value for value, _ in pairs})


def sentinel_values(levels: np.ndarray) -> list[float]:
    """Values of nines, such as -999, that lie farther from all others than these among themselves."""
    found, rest = [], levels[np.isfinite(levels)]
    while len(rest) > 2:
        low, high = rest[0], rest[-1]
        if _nines(low) and rest[1] - low > rest[-1] - rest[1]:
            found.append(float(low))
            rest = rest[1:]
        elif _nines(high) and high - rest[-2] > rest[-2] - rest[0]:
            found.append(float(high))
            rest = rest[:-1]
        else:
            break
    return found


def _nines(value: float) -> bool:
    return value == round(value) and set(str(int(abs(value)))) == {"9"}


def _span(words: Sequence[str] | dict[str, None]) -> str:
    listed = list(words)
    more = ", ..." if len(listed) > VALUES else ""
    return cut(", ".join(_cell(word) for word in listed[:VALUES]), 3 * NARROW) + more


def _cell(text: str) -> str:
    line = cut(text, NARROW)
    return line if line.isprintable() else repr(line)[1:-1]
