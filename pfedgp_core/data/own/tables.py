"""Tables in CSV with a row per sample.

All columns but those of labels and names are features, in the order of the file. A row that cannot be used is left out
and noted.
"""

import io
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from pfedgp_core.data.own.samples import Block, Findings, Samples, Wanted
from pfedgp_core.data.own.table_columns import Marks, Roles, split_columns, usable_rows
from pfedgp_core.data.tables.cells import cell_value, number_text
from pfedgp_core.data.tables.dialect import Dialect, find_dialect
from pfedgp_core.data.tables.raw import Collector
from pfedgp_core.data.tables.text import WINDOWS, text_encoding
from pfedgp_core.errors import DataError, UnreadableFileError
from pfedgp_core.files.memory import require_free
from pfedgp_core.files.regular import MalformedError, decoding, open_regular
from pfedgp_core.words import counted, few

__all__ = ["csv_blocks", "load_csv"]

COPIES = 8  # bytes of memory that a value takes once more when all rows were read
_LOOK_AFTER = 4096  # rows, whether there is memory for more


def load_csv(path: Path, wanted: Wanted, findings: Findings) -> Samples | None:
    """Read a CSV file with one line of column names, in any dialect that `find_dialect` knows.

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
    with _as_csv(path), open_regular(path) as raw, _opened(path, raw, wanted, findings) as file:
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
    with _as_csv(path), _opened(path, opened, wanted, findings) as file:
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
    dialect: Dialect
    columns: list[str]
    roles: Roles
    wanted: Wanted
    ahead: tuple[int, list[str]] | None = None  # a row that shows that there are more

    @property
    def ended(self) -> bool:
        return self.ahead is None

    @classmethod
    def begin(cls, path: Path, file: io.TextIOWrapper, wanted: Wanted, findings: Findings) -> "_Table":
        dialect = find_dialect(file)
        file.seek(0)
        rows = dialect.rows(file)
        columns = [name.strip().lstrip("\ufeff") for name in next(rows, [])]
        while columns and not columns[-1]:
            columns.pop()  # of a mark at the end of each line
        _require_names(columns, dialect)
        if dialect.comments:
            findings.remark(f"{counted(dialect.comments, 'line')} before the names of the columns: comments.")
        if dialect.decimal == ",":
            findings.remark("The numbers have decimal commas, and were read so.")
        roles = split_columns(path, columns, wanted, findings)
        filled = (row for row in rows if any(cell.strip() for cell in row))
        return cls(enumerate(filled, start=1), dialect, columns, roles, wanted)

    def read(self, most: int | None, findings: Findings) -> Samples | None:
        """The next rows, all where `most` is None; of a whole table, having none is a problem."""
        places = [self.columns.index(name) for name in self.roles.read]
        roles = self.roles
        label, one, group = (
            None if name is None else self.columns.index(name) for name in (roles.label, roles.id_column, roles.group)
        )
        collector, width = Collector(self.roles.read, self.dialect.decimal), len(self.columns)
        labels: list[str] = []
        names: list[str] = []
        groups: list[str] = []
        ragged, longer = [], 0
        behind = [] if self.ahead is None else [self.ahead]
        for number, row in itertools.islice(itertools.chain(behind, self.rows), most):
            if len(row) != width and (len(row) < width or any(cell.strip() for cell in row[width:])):
                ragged.append(f"row {number} has {len(row)}")
                longer += len(row) > width
                continue
            collector.add(str(number), [row[place] for place in places])
            labels.append("" if label is None else self._label(row[label]))
            names.append("" if one is None else row[one].strip())
            groups.append("" if group is None else row[group].strip())
            if len(labels) % _LOOK_AFTER == 0:
                require_free(collector.taken * COPIES)
        self.ahead = next(self.rows, None)
        if ragged:
            mark = (
                "; numbers with decimal commas need semicolons between columns"
                if self.dialect.separator == "," and longer == len(ragged) and not labels
                else ""
            )
            findings.problem(f"The header names {width} columns, but {few(ragged)}: save the table again{mark}.")
        found = ((labels, label), (names, one), (groups, group))
        marks = Marks(*(None if place is None else texts for texts, place in found))
        return usable_rows(collector.table(), marks, roles, self.wanted, findings)

    def _label(self, cell: str) -> str:
        """A label as text: a number with a decimal point."""
        cell = cell.strip()
        if self.dialect.decimal == "," and isinstance(cell_value(cell, ","), float):
            cell = number_text(cell, ",")
        return "" if cell.lower() in ("nan", "null") else cell


def _require_names(columns: list[str], dialect: Dialect) -> None:
    """Raise MalformedError where the line of names is one of numbers."""
    cells = [cell_value(name, dialect.decimal) for name in columns if name]
    numbers = [cell for cell in cells if isinstance(cell, float)]
    fractions = [number for number in numbers if number % 1 != 0]
    if 2 * len(fractions) < len(cells) and (not numbers or len(numbers) < len(cells)):
        return
    if numbers in ([*range(len(cells))], [*range(1, len(cells) + 1)]):
        return  # as pandas names columns without names
    comment = ", unless a comment before it holds them" if dialect.comments else ""
    raise MalformedError(f"it has no line of column names{comment}, its first line holds numbers: add one")


@contextmanager
def _opened(path: Path, raw: BinaryIO, wanted: Wanted, findings: Findings) -> Iterator[io.TextIOWrapper]:
    with decoding(path):
        encoding = wanted.layout.choice.encoding or text_encoding(raw)
        if encoding == WINDOWS and not wanted.layout.choice.encoding:
            findings.remark(
                "The file is not UTF-8, and was read as Windows-1252, as Excel writes it in Western Europe."
            )
        with io.TextIOWrapper(raw, encoding, newline="") as file:
            yield file


@contextmanager
def _as_csv(path: Path) -> Iterator[None]:
    try:
        yield
    except UnreadableFileError as error:
        raise DataError(
            f"{path} cannot be read as CSV ({error.reason}): check its rights, or save it again as 'CSV UTF-8'."
        ) from error
