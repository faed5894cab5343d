"""Columns become inputs: by the federation's rules where there are some, else as the numbers that they are.

What no rule covers is a number, or true and false. Everything else is named with its column and rows, and refused.
"""

import datetime
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from pfedgp_core.column_rules import UNKNOWN, ColumnRule, ColumnRules
from pfedgp_core.data.spec import folded_class
from pfedgp_core.data.tables.cells import cell_value, is_boolean, text_of_number
from pfedgp_core.data.tables.raw import RawTable, TextCells
from pfedgp_core.names import normal_name

__all__ = ["Encoded", "Fault", "days", "encoded", "limit_of"]

_LIMIT = re.compile(r"([<>\u2264\u2265])=?\s*(.+)")
_DAY = 86_400.0  # seconds
_EPOCH = datetime.datetime(1970, 1, 1)


@dataclass(frozen=True)
class Fault:
    """Cells of a column that cannot become inputs.

    Attributes
    ----------
    column : str
    rows : numpy.ndarray, int64 [n]
        Positions, ascending.
    values : tuple of str
        Distinct cells; empty for gaps.
    rule : ColumnRule or None
        Which they break; None where the column has none.
    """

    column: str
    rows: np.ndarray
    values: tuple[str, ...] = ()
    rule: ColumnRule | None = None


@dataclass
class Encoded:
    """Inputs of a table.

    Attributes
    ----------
    names : list of str, length I
    columns : list of numpy.ndarray, float64 [N]
        NaN where a cell could not be read, or is a gap.
    faults : list of Fault
        Gaps too, and each cell once.
    unknown : list of Fault
        Texts that a rule does not know and takes as one of its values.
    """

    names: list[str] = field(default_factory=list)
    columns: list[np.ndarray] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    unknown: list[Fault] = field(default_factory=list)

    def matrix(self, rows: int) -> np.ndarray:
        """The inputs, float64 [N, I]."""
        return np.stack(self.columns, axis=1) if self.columns else np.empty((rows, 0))

    def add(self, name: str, values: np.ndarray) -> None:
        """Take one input."""
        self.names.append(name)
        self.columns.append(values)


def encoded(table: RawTable, rules: ColumnRules) -> Encoded:
    """The inputs of a table's columns, in the order of the columns."""
    made = Encoded()
    for column, name in enumerate(table.names):
        rule = rules.of(name)
        if rule is None:
            _unruled(made, table, column)
        elif rule.kind != "ignore":
            _ruled(made, table, column, rule)
    return made


def limit_of(text: str, half: bool = False) -> float:
    """The limit in ``<0.5`` or ``>90``, or half of it for ``<``; NaN where the text is none.

    Examples
    --------
    >>> limit_of("<0.5"), limit_of("<= 0.5", half=True), limit_of(">90", half=True)
    (0.5, 0.25, 90.0)
    """
    found = _LIMIT.fullmatch(text)
    if not found:
        return math.nan
    value = cell_value(found[2], "," if "," in found[2] else ".")
    if isinstance(value, str):
        return math.nan
    return value / 2 if half and found[1] in "<\u2264" else value


def days(text: str) -> float:
    """Days from 1970 to a date, or a date with a time, in ISO form; NaN where the text is none."""
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        return math.nan
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    return (moment - _EPOCH).total_seconds() / _DAY


def _unruled(made: Encoded, table: RawTable, column: int) -> None:
    name, values = table.names[column], table.numbers[:, column]
    texts = table.texts.get(column)
    if texts is not None:
        words = [is_boolean(text) for text in texts.values]
        if None in words or np.isfinite(values).any():
            made.faults.append(Fault(name, texts.rows, texts.values))
        else:
            values = values.copy()
            values[texts.rows] = np.array(words, float)[texts.codes]
    gaps = table.missing(column) | np.isinf(values)
    if gaps.any():
        made.faults.append(Fault(name, np.flatnonzero(gaps)))
    made.add(name, values)


def _ruled(made: Encoded, table: RawTable, column: int, rule: ColumnRule) -> None:
    numbers, texts = table.numbers[:, column].copy(), table.texts.get(column)
    gaps = table.missing(column)
    if rule.codes:
        coded = np.isin(numbers, rule.codes)
        numbers[coded], gaps = math.nan, gaps | coded
    if rule.kind == "date":
        values, wrong = _date(len(numbers), gaps, texts)
    else:
        values, wrong = (_number if rule.kind == "number" else _category)(rule, numbers, gaps, texts)
    if len(wrong):
        made.faults.append(Fault(rule.name, wrong, _cells(table, column, wrong), rule))
    if rule.other is not None and len(strange := _category(replace(rule, other=None), numbers, gaps, texts)[1]):
        made.unknown.append(Fault(rule.name, strange, _cells(table, column, strange), rule))
    if gaps.any():
        if rule.missing is None:
            made.faults.append(Fault(rule.name, np.flatnonzero(gaps), (), rule))
        else:
            stands = rule.values.index(rule.missing) if isinstance(rule.missing, str) else rule.missing
            values[gaps] = stands
    if rule.kind == "category":
        known = np.isfinite(values)
        for place, name in enumerate(rule.inputs[: len(rule.values) - 1], start=1):
            made.add(name, np.where(known, (values == place).astype(float), math.nan))
    else:
        made.add(rule.name, values)
    if rule.indicator:
        made.add(rule.inputs[-1], gaps.astype(float))


_Read = tuple[np.ndarray, np.ndarray]  # values [N], NaN where there is none; rows that are wrong


def _number(rule: ColumnRule, numbers: np.ndarray, gaps: np.ndarray, texts: TextCells | None) -> _Read:
    if texts is not None and rule.censored:
        numbers[texts.rows] = _each(texts, lambda text: limit_of(text, rule.censored == "half"))
    wrong = ~(np.isfinite(numbers) & (numbers >= rule.low) & (numbers <= rule.high)) & ~gaps
    return np.where(wrong, math.nan, numbers), np.flatnonzero(wrong)


def _date(rows: int, gaps: np.ndarray, texts: TextCells | None) -> _Read:
    numbers = np.full(rows, math.nan)  # a number says no date
    if texts is not None:
        numbers[texts.rows] = _each(texts, days)
    return numbers, np.flatnonzero(np.isnan(numbers) & ~gaps)


def _category(rule: ColumnRule, numbers: np.ndarray, gaps: np.ndarray, texts: TextCells | None) -> _Read:
    """Positions in the values of the rule; where sites have agreed on it, words may differ from them in case."""
    known = {value: float(place) for place, value in enumerate(rule.values)}
    known |= {text: known[value] for text, value in rule.also}
    rest = math.nan if rule.other is None else known[rule.other]
    folded = {folded_class(value): known[value] for value in rule.values} if UNKNOWN in rule.values else {}

    def place(text: str) -> float:
        if (found := known.get(normal_name(text), folded.get(folded_class(text)))) is not None:
            return found
        word = is_boolean(text) if rule.kind == "boolean" else None
        return rest if word is None else word

    if rule.kind == "boolean":
        known |= {"0": 0.0, "1": 1.0}
    values = np.full(len(numbers), math.nan)
    given = np.flatnonzero(np.isfinite(numbers))
    distinct, codes = np.unique(numbers[given], return_inverse=True)
    values[given] = np.array([place(text_of_number(number)) for number in distinct.tolist()])[codes]
    if texts is not None:
        values[texts.rows] = _each(texts, place)
    return values, np.flatnonzero(np.isnan(values) & ~gaps)


def _each(texts: TextCells, read: Callable[[str], float]) -> np.ndarray:
    found: np.ndarray = np.array([read(text) for text in texts.values], float)[texts.codes]
    return found


def _cells(table: RawTable, column: int, rows: np.ndarray) -> tuple[str, ...]:
    """The distinct cells in some rows of a column, as text."""
    texts = table.texts.get(column)
    of = {} if texts is None else dict(zip(texts.rows.tolist(), texts.codes.tolist(), strict=True))
    found: dict[str, None] = {}
    for row in rows.tolist():
        code = of.get(row)
        number = float(table.numbers[row, column])
        found[text_of_number(number) if code is None or texts is None else texts.values[code]] = None
    return tuple(found)
