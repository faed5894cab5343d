"""CSV for people and spreadsheets: the one writer of every CSV file of the product, and its reader.

A spreadsheet takes a cell that begins with one of ``= + - @`` for a formula, also where a site chose the text. Such a
text gets an apostrophe before it, which spreadsheets hide and `read_csv` removes; numbers stay as they are. A cell that
lists names joins them by ``;``, with a backslash before a ``;`` or a backslash in a name.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["csv_lines", "csv_text", "join_names", "read_csv", "split_names"]

# Also the control characters and the wide forms that some spreadsheets take for one of them.
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_CELL_LIMIT = 2**30  # characters; the standard library's limit is a thousand class names


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table as CSV whose lines end with a line feed.

    Parameters
    ----------
    columns : sequence of str
    rows : iterable of sequences
        Texts are made safe; all else is written by ``str``.
    """
    return csv_lines([columns, *rows])


def csv_lines(rows: Iterable[Sequence[Any]]) -> str:
    """Return rows of a table as its next lines; see `csv_text`."""
    text = io.StringIO()
    plain = csv.writer(text, lineterminator="\n")
    quoted = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in rows:
        # The standard library does not quote a carriage return, and reads it as the end of the row.
        writer = quoted if any(isinstance(cell, str) and "\r" in cell for cell in row) else plain
        writer.writerow([_safe(cell) if isinstance(cell, str) else cell for cell in row])
    return text.getvalue()


def read_csv(text: str) -> list[dict[str, str]]:
    """Return the rows of a table that `csv_text` wrote, by column, each text as it was given.

    Raises
    ------
    csv.Error
        It is no CSV.
    """
    former = csv.field_size_limit(_CELL_LIMIT)
    try:
        columns, *rows = [[_plain(cell) for cell in row] for row in csv.reader(io.StringIO(text, newline=""))] or [[]]
    finally:
        csv.field_size_limit(former)
    return [dict(zip(columns, row + [""] * (len(columns) - len(row)), strict=False)) for row in rows if row]


def join_names(names: Iterable[str]) -> str:
    """Return names as one cell; see `split_names`."""
    return ";".join(re.sub(r"([\\;])", r"\\\1", name) for name in names)


def split_names(cell: str) -> list[str]:
    """Return the names that `join_names` joined; no name of an empty cell."""
    names, literal = [""], False
    for character in cell:
        if character == ";" and not literal:
            names.append("")
        elif character == "\\" and not literal:
            literal = True
            continue
        else:
            names[-1] += character
        literal = False
    return names if cell else []


def _safe(cell: str) -> str:
    begins = cell.lstrip("'").startswith(_FORMULA)  # with the apostrophes of a name that looks as if it were made safe
    return f"'{cell}" if begins and not _NUMBER.fullmatch(cell) else cell


def _plain(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(_FORMULA) else cell
