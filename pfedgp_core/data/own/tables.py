"""Tables in CSV with a row per sample.

All columns but that of the labels are features, in the order of the file. A row that cannot be used is left out and
noted.
"""

import csv
import io
import itertools
import math
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from pfedgp_core.data.own.samples import Block, Findings, Samples, Wanted
from pfedgp_core.data.own.table_columns import split_columns, usable_rows
from pfedgp_core.errors import DataError, UnreadableFileError
from pfedgp_core.files.memory import require_free
from pfedgp_core.files.regular import MalformedError, decoding, open_regular
from pfedgp_core.words import counted, cut, few

__all__ = ["csv_blocks", "load_csv"]

_SEPARATORS = ",;\t"
_MISSING = ("", "na", "n/a", "nan", "null", "none")
LONGEST_LINE = 16 * 1024 * 1024  # characters of the line of column names
COPIES = 8  # bytes of memory that a value takes once more when all rows were read
_LOOK_AFTER = 4096  # rows, whether there is memory for more


def load_csv(path: Path, wanted: Wanted, findings: Findings) -> Samples | None:
    """Read a CSV file in UTF-8 with one line of column names; separated by commas, semicolons or tabs.

    Returns
    -------
    Samples or None
        float32 [N, D]; None where nothing is usable.

    Raises
    ------
    DataError
        The file cannot be read as a table at all.
    """
    findings.kind = "CSV table"
    with _as_csv(path), open_regular(path) as raw, _opened(path, raw) as file:
        return _Table.begin(path, file, wanted, findings).read(None, findings)


def csv_blocks(path: Path, opened: BinaryIO, wanted: Wanted, rows: int) -> Iterator[Block]:
    """Read the same from an open file, so many rows at a time.

    Parameters
    ----------
    path : Path
        Where it is, for what is said of it.
    opened : BinaryIO
        At the beginning of the table.
    wanted : Wanted
    rows : int

    Raises
    ------
    DataError
        It cannot be read as a table, from the block on where that shows.
    """
    findings = Findings("CSV table")
    whole = max(opened.seek(0, io.SEEK_END), 1)
    opened.seek(0)
    with _as_csv(path), _opened(path, opened) as file:
        table = _Table.begin(path, file, wanted, findings)
        while True:
            samples = table.read(rows, findings)
            yield Block(samples, findings, min(1.0, opened.tell() / whole))
            if table.ended:
                return
            findings = Findings("CSV table")


@dataclass
class _Table:
    """A table that is being read."""

    rows: Iterator[tuple[int, list[str]]]
    columns: list[str]
    features: list[str]
    label: str | None
    wanted: Wanted
    ahead: tuple[int, list[str]] | None = None  # a row that shows that there are more

    @property
    def ended(self) -> bool:
        return self.ahead is None

    @classmethod
    def begin(cls, path: Path, file: io.TextIOWrapper, wanted: Wanted, findings: Findings) -> "_Table":
        first = file.readline(LONGEST_LINE)
        if len(first) == LONGEST_LINE:
            raise MalformedError("its first line has no end")
        file.seek(0)
        rows = csv.reader(file, delimiter=max(_SEPARATORS, key=first.count))
        columns = [name.strip() for name in next(rows, [])]
        features, label = split_columns(path, columns, wanted, findings)
        return cls(enumerate((row for row in rows if row), start=1), columns, features, label, wanted)

    def read(self, most: int | None, findings: Findings) -> Samples | None:
        """The next rows, all where `most` is None; of a whole table, having none is a problem."""
        position = None if self.label is None else self.columns.index(self.label)
        numbers = array("d")  # a list of rows takes four times as much
        labels, ids, ragged, texts = [], [], [], []
        behind = [] if self.ahead is None else [self.ahead]
        for number, row in itertools.islice(itertools.chain(behind, self.rows), most):
            if len(row) != len(self.columns):
                ragged.append(f"row {number} has {len(row)}")
                continue
            given = "" if position is None else row.pop(position).strip()
            try:
                values = [math.nan if cell.strip().lower() in _MISSING else float(cell) for cell in row]
            except ValueError:
                wrong = next(i for i, cell in enumerate(row) if not _is_number(cell))
                texts.append(f"{cut(row[wrong], 60)!r} in row {number}, column {cut(self.features[wrong], 60)!r}")
                continue
            numbers.extend(values)
            labels.append("" if given.lower() in ("nan", "null") else given)
            ids.append(str(number))
            if len(ids) % _LOOK_AFTER == 0:
                require_free(len(numbers) * COPIES)
        self.ahead = next(self.rows, None)
        if ragged:
            findings.problem(f"The header names {len(self.columns)} columns, but {few(ragged)}: save the table again.")
        if texts:
            findings.problem(
                f"Something else than numbers in {counted(len(texts), 'row')} ({few(texts)}): write numbers with a "
                "decimal point, and leave out columns of text."
            )
        matrix = np.array(numbers, dtype=np.float64).reshape(len(ids), len(self.features))
        known = None if self.label is None else tuple(labels)
        return usable_rows(matrix, known, self.features, ids, self.wanted, findings)


@contextmanager
def _opened(path: Path, raw: BinaryIO) -> Iterator[io.TextIOWrapper]:
    with decoding(path), io.TextIOWrapper(raw, "utf-8-sig", newline="") as file:
        yield file


@contextmanager
def _as_csv(path: Path) -> Iterator[None]:
    try:
        yield
    except UnreadableFileError as error:
        raise DataError(
            f"{path} cannot be read as CSV ({error.reason}): check its rights, or save it again as 'CSV UTF-8'."
        ) from error


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell.strip().lower() in _MISSING
    return True
