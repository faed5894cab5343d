"""How a CSV file is written: separator, decimal mark, lines before the names. Read from its first lines, or refused.

Excel writes what the machine's region says: semicolons and decimal commas in most of Europe, and sometimes a first line
``sep=;``.
"""

import csv
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO

from pfedgp_core.files.regular import MalformedError
from pfedgp_core.words import cut

__all__ = ["Dialect", "find_dialect"]

SEPARATORS = "\t|;,"  # of equally good ones the first: a comma also stands in numbers and texts
LONGEST_LINE = 16 * 1024 * 1024  # characters of the line of column names
LOOKED_AT = 500  # rows
CHARACTERS = 2**20  # of them together
_QUOTED = re.compile(r'"[^"]*"')
_SEP = re.compile(r'"?sep=(.)"?', re.IGNORECASE)
# A number with a mark, and whether it can only be that of decimals: three digits behind it may be thousands.
_MARKED = re.compile(r"[+-]?([0-9]*)([.,])([0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_GROUPS = re.compile(r"[+-]?[0-9]{1,3}(?:([.,' ])[0-9]{3})+(?:[.,][0-9]+)?", re.ASCII)


@dataclass(frozen=True)
class Dialect:
    """How a file is written.

    Attributes
    ----------
    separator : str
    decimal : {".", ","}
    skipped : int
        Lines before that of the names.
    comments : int
        Of them, comments.
    """

    separator: str
    decimal: str
    skipped: int
    comments: int

    def rows(self, file: TextIO) -> Iterator[list[str]]:
        """All rows of a file at its beginning, that of the names first; none of a line without anything."""
        lines = itertools.islice(file, self.skipped, None)
        return (row for row in csv.reader(lines, delimiter=self.separator) if row)


def find_dialect(file: TextIO) -> Dialect:
    """The dialect of a file that is at its beginning; afterwards it is somewhere else.

    Raises
    ------
    MalformedError
        A line has no end, or its numbers cannot be told from groups of thousands.
    """
    skipped = comments = 0
    separator, head = "", ""
    while line := _line(file):
        plain = line.strip().lstrip("\ufeff")
        if found := _SEP.fullmatch(plain):
            separator = found[1]
        elif plain.startswith("#"):
            comments += 1
        elif plain:
            head = line
            break
        skipped += 1
    lines, taken = [head], 0
    for line in itertools.islice(iter(lambda: _line(file), ""), LOOKED_AT):
        lines.append(line)
        taken += len(line)
        if taken > CHARACTERS:
            break
    separator = separator or _separator(head, lines)
    cells = [cell.strip() for row in csv.reader(lines[1:], delimiter=separator) for cell in row]
    return Dialect(separator, _decimal(cells), skipped, comments)


def _line(file: TextIO) -> str:
    line = file.readline(LONGEST_LINE)
    if len(line) == LONGEST_LINE:
        raise MalformedError("its first line has no end")
    return line


def _separator(head: str, lines: Sequence[str]) -> str:
    """That which divides most rows as it divides the names; the comma where there is none."""
    bare = _QUOTED.sub("", head)
    best, found = (-1.0, 0), ","
    for mark in SEPARATORS:
        if mark not in bare:
            continue
        counts = [len(row) for row in csv.reader(lines, delimiter=mark) if row]
        score = sum(n == counts[0] for n in counts) / len(counts), bare.count(mark)
        if score > best:
            best, found = score, mark
    return found


def _decimal(cells: Sequence[str]) -> str:
    """The decimal mark that the numbers prove; the point where none proves another."""
    proofs: dict[str, str] = {}
    doubtful: dict[str, str] = {}
    for cell in cells:
        if found := _MARKED.fullmatch(cell):
            whole, mark, decimals = found.groups()
            thousands = len(decimals) == 3 and 1 <= len(whole) <= 3 and not whole.startswith("0")
            (doubtful if thousands else proofs).setdefault(mark, cell)
        elif (found := _GROUPS.fullmatch(cell)) and "," in cell:
            raise MalformedError(f"its numbers have marks between thousands, such as {cut(cell, 30)!r}: write none")
    if "," in proofs and "." in proofs:
        raise MalformedError(
            f"its numbers have decimal points and decimal commas ({cut(proofs['.'], 30)!r}, {cut(proofs[','], 30)!r}): "
            "write all of them in one form"
        )
    if "," in proofs:
        return ","
    if "," in doubtful and "." not in proofs:
        raise MalformedError(
            f"nobody can tell whether {cut(doubtful[','], 30)!r} is a number with decimals or a thousand: write "
            "numbers with a decimal point"
        )
    return "."
