"""Names of a table's columns: in what form they leave a site, whether two tables have the same ones, and their order.

A name leaves its site as it is, or as a hash with a key that all sites of a federation share and the server does not
have: without the key nobody finds a name by trying likely ones.
"""

import difflib
import hashlib
import hmac
from collections.abc import Sequence

from pfedgp_core.names import name_fault, normal_name
from pfedgp_core.words import counted, cut

__all__ = [
    "COLUMNS_LIMIT",
    "COLUMN_NAME_LIMIT",
    "HASHED",
    "column_order",
    "columns_difference",
    "columns_fault",
    "hashed_columns",
    "is_hashed",
    "near_columns",
    "plain_columns",
]

COLUMN_NAME_LIMIT = 200  # characters
COLUMNS_LIMIT = 100_000  # of one table, beyond which no names are sent
CHARACTERS_LIMIT = 4_000_000  # of all names of a table together
HASHED = "hmac-sha256:"  # before the hash of a name
DIGITS = 32  # hexadecimal ones of a hash
SHOWN = 4  # names in a sentence
NEAR = 0.6  # from which two names are alike (1: equal)


def plain_columns(columns: Sequence[str]) -> tuple[str, ...]:
    """Names as they are compared: without spaces that nobody sees, with accents as one character each."""
    return tuple(map(normal_name, columns))


def hashed_columns(columns: Sequence[str], key: bytes) -> tuple[str, ...]:
    """The names' hashes under a key."""
    digests = (hmac.new(key, name.encode(), hashlib.sha256).hexdigest() for name in plain_columns(columns))
    return tuple(HASHED + digest[:DIGITS] for digest in digests)


def is_hashed(columns: Sequence[str]) -> bool:
    """Whether the names are hashes."""
    return any(name.startswith(HASHED) for name in columns)


def columns_fault(columns: Sequence[str], count: int | None = None) -> str:
    """Say what is wrong with the names of a table's columns, as "a column ..."; empty where nothing is.

    Parameters
    ----------
    columns : sequence of str
        Empty where there are no names, which is right.
    count : int, optional
        Columns that there must be.
    """
    if not columns:
        return ""
    if count is not None and len(columns) != count:
        return f"{counted(len(columns), 'name')} for {counted(count, 'column')}"
    if len(columns) > COLUMNS_LIMIT or sum(map(len, columns)) > CHARACTERS_LIMIT:
        return "names of columns beyond what a table has"
    if len(set(columns)) < len(columns):
        return "a column twice"
    faults = (name_fault(name, COLUMN_NAME_LIMIT) for name in columns)
    if fault := next((fault for fault in faults if fault), ""):
        return f"a column whose name {fault}"
    if is_hashed(columns) and not all(map(_is_hash, columns)):
        return f"a column whose name begins with {HASHED} and is no such hash"
    return ""


def column_order(own: Sequence[str], wanted: Sequence[str]) -> tuple[int, ...]:
    """Where each wanted column is among the own ones, which are the same in some order.

    Examples
    --------
    >>> column_order(("bmi", "age"), ("age", "bmi"))
    (1, 0)
    """
    place = {name: i for i, name in enumerate(own)}
    return tuple(place[name] for name in wanted)


def columns_difference(own: Sequence[str], wanted: Sequence[str]) -> str:
    """Say which columns are missing and which are too many, as "lacks ..."; empty where the names are the same."""
    mine, expected = set(own), set(wanted)
    missing = [name for name in wanted if name not in mine]
    extra = [name for name in own if name not in expected]
    if not missing and not extra:
        return ""
    if is_hashed(own) != is_hashed(wanted):
        given, others = ("hashed", "plain") if is_hashed(own) else ("plain", "hashed")
        return f"gives {given} names of columns where {others} ones are expected"
    parts = [f"lacks {_listed(missing)}"] if missing else []
    parts += [f"has {_listed(extra)} beside the expected ones"] if extra else []
    near = [] if is_hashed(own) else near_columns(extra, missing)
    hints = ", ".join(f"{_quoted(name)} for {_quoted(other)}" for name, other in near[:SHOWN])
    return " and ".join(parts) + (f" (did you mean {hints}?)" if near else "")


def near_columns(extra: Sequence[str], missing: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs (missing, extra) of names that are alike, whatever their case; each missing name at most once."""
    left = {name.casefold(): name for name in missing[:COLUMNS_LIMIT]}
    pairs = []
    for name in extra[:100]:  # each is compared with each
        found = difflib.get_close_matches(name.casefold(), list(left)[:1000], n=1, cutoff=NEAR)
        if found:
            pairs.append((left.pop(found[0]), name))
    return pairs


def _listed(names: Sequence[str]) -> str:
    noun = "the column " if len(names) == 1 else "the columns "
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return noun + ", ".join(map(_quoted, names[:SHOWN])) + more


def _quoted(name: str) -> str:
    return repr(cut(name, 60))


def _is_hash(name: str) -> bool:
    digits = name.removeprefix(HASHED)
    return name.startswith(HASHED) and len(digits) == DIGITS and set(digits) <= set("0123456789abcdef")
