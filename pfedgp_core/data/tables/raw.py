"""Columns of a table as they were read: numbers, gaps and texts, before any rule makes inputs of them."""

import datetime
import math
import re
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pfedgp_core.data.tables.cells import cell_value

__all__ = ["Collector", "RawTable", "TextCells", "raw_table"]

TEXT_CELL = 16  # bytes of memory of a text that occurred before
_PLAIN = re.compile(r"[0-9.eE+\-\n]+", re.ASCII)


@dataclass(frozen=True)
class TextCells:
    """The cells of a column that are neither numbers nor gaps.

    Attributes
    ----------
    rows : numpy.ndarray, int64 [n]
        Positions, ascending.
    codes : numpy.ndarray, int64 [n]
        Positions in `values`.
    values : tuple of str
        The distinct texts, in the order of their first occurrence.
    """

    rows: np.ndarray
    codes: np.ndarray
    values: tuple[str, ...]

    def first(self, code: int) -> int:
        """The first row with a text."""
        return int(self.rows[int((self.codes == code).argmax())])


@dataclass(frozen=True)
class RawTable:
    """Columns of a table.

    Attributes
    ----------
    names : tuple of str, length D
    numbers : numpy.ndarray, float64 [N, D]
        NaN for a gap and for a text.
    texts : mapping of int to TextCells
        By position of the column; none of a column without texts.
    ids : tuple of str, length N
        Numbers of the rows, counted from 1.
    """

    names: tuple[str, ...]
    numbers: np.ndarray
    texts: Mapping[int, TextCells]
    ids: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.ids)

    def select(self, names: Sequence[str]) -> "RawTable":
        """Some of the columns, in this order."""
        places = [self.names.index(name) for name in names]
        if places == list(range(len(self.names))):
            return self
        texts = {new: self.texts[old] for new, old in enumerate(places) if old in self.texts}
        return replace(self, names=tuple(names), numbers=self.numbers[:, places], texts=texts)

    def rows(self, chosen: np.ndarray) -> "RawTable":
        """Some of the rows, int64 [n] ascending."""
        texts = {}
        for column, cells in self.texts.items():
            there = np.isin(cells.rows, chosen)
            used, codes = np.unique(cells.codes[there], return_inverse=True)
            places = np.searchsorted(chosen, cells.rows[there])
            if len(places):
                texts[column] = TextCells(places, codes, tuple(cells.values[i] for i in used.tolist()))
        return replace(self, numbers=self.numbers[chosen], texts=texts, ids=tuple(self.ids[i] for i in chosen.tolist()))

    def missing(self, column: int) -> np.ndarray:
        """Which cells of a column are gaps, bool [N]."""
        gaps: np.ndarray = np.isnan(self.numbers[:, column])
        if column in self.texts:
            gaps[self.texts[column].rows] = False
        return gaps


@dataclass
class _Texts:
    rows: array = field(default_factory=lambda: array("q"))  # type: ignore[type-arg]
    codes: array = field(default_factory=lambda: array("q"))  # type: ignore[type-arg]
    known: dict[str, int] = field(default_factory=dict)

    def add(self, row: int, text: str) -> None:
        self.rows.append(row)
        self.codes.append(self.known.setdefault(text, len(self.known)))

    def cells(self) -> TextCells:
        return TextCells(np.array(self.rows, np.int64), np.array(self.codes, np.int64), tuple(self.known))


@dataclass
class Collector:
    """Takes a table row by row. A list of rows would take four times the memory.

    Attributes
    ----------
    names : sequence of str, length D
    decimal : {".", ","}
        The decimal mark of the cells.
    """

    names: Sequence[str]
    decimal: str = "."
    ids: list[str] = field(default_factory=list)
    _numbers: array = field(default_factory=lambda: array("d"))  # type: ignore[type-arg]
    _texts: dict[int, _Texts] = field(default_factory=dict)

    @property
    def taken(self) -> int:
        """Values so far, texts beyond numbers counted as much as they take."""
        texts = sum(len(texts.rows) for texts in self._texts.values())
        return len(self._numbers) + texts * TEXT_CELL // self._numbers.itemsize

    def add(self, number: str, cells: Sequence[str]) -> None:
        """Take a row: its number, and the cells of its D columns."""
        row = len(self.ids)
        self.ids.append(number)
        if (plain := self._plain(cells)) is not None:
            self._numbers.extend(plain)
            return
        for column, cell in enumerate(cells):
            value = cell_value(cell, self.decimal)
            if isinstance(value, str):
                self._texts.setdefault(column, _Texts()).add(row, value)
                value = math.nan
            self._numbers.append(value)

    def _plain(self, cells: Sequence[str]) -> list[float] | None:
        """The numbers of a row that holds nothing else, which most rows do; None where that has to be looked at."""
        line = "\n".join(cells)
        if self.decimal == ",":
            line = line.replace(".", " ").replace(",", ".")
        if not _PLAIN.fullmatch(line):
            return None
        try:
            numbers = list(map(float, line.split("\n")))
        except ValueError:
            return None
        return numbers if len(numbers) == len(cells) else None

    def table(self) -> RawTable:
        """All rows so far."""
        matrix = np.array(self._numbers, np.float64).reshape(len(self.ids), len(self.names))
        texts = {column: texts.cells() for column, texts in self._texts.items()}
        return RawTable(tuple(self.names), matrix, texts, tuple(self.ids))


def raw_table(columns: Mapping[str, Sequence[Any]], ids: Sequence[str]) -> RawTable:
    """The same of columns that hold values of Python, as Parquet or JSON give them.

    Parameters
    ----------
    columns : mapping of str to sequence, length N
        Numbers, truth values, texts, dates and times; None is a gap.
    ids : sequence of str, length N
    """
    matrix = np.full((len(ids), len(columns)), math.nan)
    texts = {}
    for column, values in enumerate(columns.values()):
        if set(map(type, values)) <= {int, float, type(None)}:
            matrix[:, column] = [math.nan if value is None else _float(value) for value in values]
            continue
        found = _Texts()
        for row, value in enumerate(values):
            read = _value(value)
            if isinstance(read, str):
                found.add(row, read)
            else:
                matrix[row, column] = read
        if found.known:
            texts[column] = found.cells()
    return RawTable(tuple(columns), matrix, texts, tuple(ids))


def _value(value: Any) -> float | str:
    if value is None:
        return math.nan
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    if isinstance(value, str):
        return cell_value(value)
    if isinstance(value, datetime.date | datetime.time):  # a time of a date too
        return value.isoformat()
    try:
        return _float(value)
    except (TypeError, ValueError):
        return str(value)


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf
