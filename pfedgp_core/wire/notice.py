"""A word of the server to one site, such as why it cannot take part: one line for the site's log and its state.

Columns of a table travel by their name, or by its hash or their place among the features, counted from 1, where that is
all that the server knows; the site then puts in the name.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pfedgp_core.checks import printable
from pfedgp_core.data.column_names import HASHED
from pfedgp_core.errors import DataError
from pfedgp_core.wire.names import REFUSED, WORDS, Fields
from pfedgp_core.words import cut

__all__ = ["WORDS_LIMIT", "column_text", "notice", "read_notice", "with_column_names"]

WORDS_LIMIT = 500  # characters
_HASH = re.compile(re.escape(HASHED) + r"[0-9a-f]+")
_COLUMN = re.compile(r"\bcolumn (\d{1,9}) of the table\b")


def column_text(index: int, columns: Sequence[str] = ()) -> str:
    """A column of a table by its name or hash or, where it has none, its place.

    Parameters
    ----------
    index : int
        Counts from 0, without the label.
    columns : sequence of str
        Names or hashes of all columns; empty where there are none.
    """
    if columns:
        return f"column {cut(columns[index], 60)!r}"
    return f"column {index + 1} of the table"


def with_column_names(words: str, columns: Sequence[str], hashes: Sequence[str] = ()) -> str:
    """The same words with the names of the columns that `column_text` wrote.

    Parameters
    ----------
    words : str
    columns : sequence of str
    hashes : sequence of str
        Of the same columns, where the server knows no more.
    """

    def named(found: re.Match[str]) -> str:
        place = int(found[1])
        if not 1 <= place <= len(columns):
            return found[0]
        return f"column {printable(columns[place - 1], 100)!r} ({place} of the table)"

    by_hash = dict(zip(hashes, columns, strict=True)) if hashes else {}
    words = _HASH.sub(lambda found: printable(by_hash.get(found[0], found[0]), 100), words)
    return _COLUMN.sub(named, words)


def notice(words: str, refused: bool) -> Fields:
    """The config of a notice.

    Parameters
    ----------
    words : str
        As the server's console has them.
    refused : bool
        Whether the site cannot take part as it is.
    """
    return {WORDS: printable(words, WORDS_LIMIT), REFUSED: refused}


def read_notice(config: Mapping[str, Any]) -> tuple[str, bool]:
    """Words and whether the site is refused, from what a server sent: one line that a console can show.

    Raises
    ------
    DataError
        It is no notice.
    """
    words, refused = config.get(WORDS), config.get(REFUSED)
    if not isinstance(words, str) or not isinstance(refused, bool):
        raise DataError("The server sent a notice without words: run the same pfedgp version on both sides.")
    return printable(words, WORDS_LIMIT), refused
