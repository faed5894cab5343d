"""What a site tells of the columns of its table, so that a federation can agree on rules for them.

Per column a kind, how many rows have a value and how many a gap, mean and deviation of numbers, and texts with how many
rows have them. Nothing is of fewer rows than the floor: gaps of fewer count as values, a column with fewer values as
empty, and texts go by `cells_that_leave`.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pfedgp_core.checks import MALFORMED, count, text
from pfedgp_core.column_rules import NAME
from pfedgp_core.data.column_names import plain_columns
from pfedgp_core.data.tables.cells import is_boolean, text_of_number
from pfedgp_core.data.tables.cells_that_leave import cells_that_leave
from pfedgp_core.data.tables.draft import FEWEST, MOST_VALUES
from pfedgp_core.data.tables.encode import days, limit_of
from pfedgp_core.data.tables.raw import RawTable
from pfedgp_core.errors import DataError
from pfedgp_core.files.json_file import parse_list
from pfedgp_core.names import name_fault, normal_name
from pfedgp_core.words import cut

__all__ = ["FEWEST", "MOST_COLUMNS", "NUMBERS", "TEXTS", "ColumnSummary", "TableSummary"]

NUMBERS = "number", "limits"  # limits: some cells are as <0.5
TEXTS = "boolean", "text", "words"  # words: too many or too rare ones to be values
DATE, EMPTY = "date", "empty"
KINDS = (*NUMBERS, DATE, *TEXTS, EMPTY)
REPEATS = 3  # rows of each different number, from which numbers beside texts are codes
MOST_CODES = 10  # different numbers beside texts that are codes however seldom they repeat
MOST_COLUMNS = 5_000  # of a table, on which sites can agree


@dataclass(frozen=True)
class ColumnSummary:
    """One column.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    count, missing : int
        Rows that count as values, and gaps; together all rows.
    mean, std : float
        Of numbers, and of days of dates; else 0.
    values : mapping of str to int
        Rows of each text, or `WITHHELD`.
    """

    kind: str
    count: int
    missing: int
    mean: float = 0.0
    std: float = 0.0
    values: Mapping[str, int] = field(default_factory=dict)

    def floored(self, floor: int) -> "ColumnSummary":
        """The same without anything of fewer than `floor` rows."""
        rows = self.count + self.missing
        if self.count < floor:
            return ColumnSummary(EMPTY, 0, rows)
        missing = self.missing if self.missing >= floor else 0
        made = replace(self, count=rows - missing, missing=missing)
        if self.kind not in TEXTS:
            return made
        values = cells_that_leave(dict(self.values), rows - missing, floor)
        if not 0 < len(values) <= MOST_VALUES:
            return replace(made, kind="words", values={})
        return replace(made, values=values)


@dataclass(frozen=True)
class TableSummary:
    """All columns of a site's table.

    Attributes
    ----------
    site : str
    rows : int
    columns : dict of str to ColumnSummary
        By name as names are compared, in the order of the table.
    """

    site: str
    rows: int
    columns: dict[str, ColumnSummary]

    @classmethod
    def of(cls, site: str, table: RawTable, floor: int = FEWEST) -> "TableSummary":
        """The summary of a table whose columns are features.

        Raises
        ------
        DataError
            It has more columns than sites can agree on.
        """
        if len(table.names) > MOST_COLUMNS:
            raise DataError(
                f"The table has {len(table.names):,} columns, and sites agree on {MOST_COLUMNS:,} at most "
                "(column-rules-from = federated): choose some with --columns, or have the run give its rules by file."
            )
        columns = [_summary(table, place).floored(floor) for place in range(len(table.names))]
        return cls(site, len(table), dict(zip(plain_columns(table.names), columns, strict=True)))

    def floored(self, floor: int) -> "TableSummary":
        """The same without anything of fewer than `floor` rows."""
        return replace(self, columns={name: column.floored(floor) for name, column in self.columns.items()})

    @property
    def means(self) -> tuple[float, ...]:
        """Mean of each column."""
        return tuple(column.mean for column in self.columns.values())

    @property
    def stds(self) -> tuple[float, ...]:
        """Deviation of each column."""
        return tuple(column.std for column in self.columns.values())

    def to_json(self) -> str:
        """What is beside the names and moments, as one text."""
        told = [[each.kind, each.count, each.missing, dict(each.values)] for each in self.columns.values()]
        return json.dumps(told, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(
        cls, site: str, rows: int, names: Sequence[str], means: Sequence[float], stds: Sequence[float], told: str
    ) -> "TableSummary":
        """What a site sends.

        Raises
        ------
        DataError
            It cannot be the summary of a table of so many rows; the text is the end of "the site sends ...".
        """
        if len(names) > MOST_COLUMNS:
            raise DataError(f"{len(names):,} columns, more than {MOST_COLUMNS:,}")
        try:
            parts = parse_list(told)
            columns = [_column(rows, mean, std, *part) for part, mean, std in zip(parts, means, stds, strict=True)]
            return cls(site, rows, dict(zip(names, columns, strict=True)))
        except DataError:
            raise
        except MALFORMED as error:
            raise DataError(f"a summary of its columns that is none ({type(error).__name__})") from None


def _column(rows: int, mean: float, std: float, kind: Any, n: Any, missing: Any, values: Any) -> ColumnSummary:
    if len(values) > MOST_VALUES:
        raise DataError(f"a column with {len(values):,} texts, more than {MOST_VALUES}")
    made = ColumnSummary(
        text(kind), count(n), count(missing), mean, std, {text(t): count(k) for t, k in values.items()}
    )
    if made.kind not in KINDS:
        raise DataError("a column of a kind that there is not")
    if made.count + made.missing != rows or sum(made.values.values()) > made.count:
        raise DataError(f"a column with other numbers of rows than the {rows:,} of its table")
    if (made.kind == EMPTY) != (made.count == 0):
        raise DataError("a column whose kind does not go with its number of values")
    if bool(made.values) != (made.kind in ("boolean", "text")):
        raise DataError("a column whose texts do not go with its kind")
    if fault := next((fault for value in made.values if (fault := name_fault(value, NAME))), ""):
        raise DataError(f"a column with a text that {fault}")
    if any(value != normal_name(value) for value in made.values):
        raise DataError("a column with a text that is not written as texts are compared")
    return made


def _summary(table: RawTable, column: int) -> ColumnSummary:
    """Everything of a column, of any number of rows."""
    numbers, texts = table.numbers[:, column], table.texts.get(column)
    known = numbers[np.isfinite(numbers)]
    words = () if texts is None else texts.values
    missing = int(table.missing(column).sum() + np.isinf(numbers).sum())
    filled = len(table) - missing
    kind = _kind(known, words, filled)
    if kind in TEXTS:
        held = Counter[str]()
        if texts is not None:
            for word, n in zip(words, np.bincount(texts.codes, minlength=len(words)).tolist(), strict=True):
                held[normal_name(word)] += n
        for level, n in zip(*np.unique(known, return_counts=True), strict=True):
            held[text_of_number(float(level))] += int(n)
        values = {word: n for word, n in held.items() if not name_fault(word, NAME)}
        return ColumnSummary(kind, filled, missing, values=values)
    read = {"limits": lambda word: limit_of(word, half=True), DATE: days}.get(kind)
    if read is not None and texts is not None:
        known = np.concatenate([known, np.array([read(word) for word in words])[texts.codes]])
    if not len(known):
        return ColumnSummary(EMPTY, 0, len(table))
    with np.errstate(over="ignore", invalid="ignore"):
        mean, std = float(known.mean()), float(known.std())
    if not (math.isfinite(mean) and math.isfinite(std)):
        name = cut(table.names[column], 60)
        raise DataError(f"The column {name!r} has numbers beyond all range: rescale it, or remove codes for gaps.")
    return ColumnSummary(kind, filled, missing, mean, std)


def _kind(known: np.ndarray, words: Sequence[str], filled: int) -> str:
    """The kind of a column with `filled` cells, of which `known` are numbers, and `words` the different other ones."""
    if not words:
        return "number"
    if all(not math.isnan(limit_of(word)) for word in words):
        return "limits"
    if not len(known):
        if all(is_boolean(word) is not None for word in words):
            return "boolean"
        if all(not math.isnan(days(word)) for word in words):
            return DATE
    levels = len(np.unique(known))  # codes of a category are few, and repeat
    numbers = levels > MOST_CODES and REPEATS * levels > len(known) > filled / 2
    return "number" if numbers or levels > MOST_VALUES else "text"
