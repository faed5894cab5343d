"""Checks of single values that another machine sent: each returns its value, or says what is wrong with it.

What is wrong is a TypeError or ValueError that ends the sentence "field 'x' ...". The bounds are far beyond what an
honest client sends, and small enough that sums over all clients and rounds stay finite.
"""

import math
import re
from collections.abc import Iterable
from typing import Any

__all__ = [
    "COUNT_LIMIT",
    "MALFORMED",
    "SECONDS_LIMIT",
    "check_names",
    "count",
    "finite",
    "integer",
    "not_negative",
    "printable",
    "seconds",
    "text",
    "within",
]

# What reading a text or a value of a stranger may raise, deep nesting and integers beyond any float among it.
MALFORMED = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
COUNT_LIMIT = 10**12
SECONDS_LIMIT = 1e7  # a third of a year
_NAME = re.compile(r"[A-Za-z0-9 ._-]{1,60}")
_MOST_NAMES = 100


def text(value: Any) -> str:
    """A text."""
    if not isinstance(value, str):
        raise TypeError("is not a text")
    return value


def integer(value: Any) -> int:
    """An integer, of any size and sign."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("is not an integer")
    return value


def count(value: Any) -> int:
    """An integer from 0 to `COUNT_LIMIT`."""
    number = integer(value)
    if number < 0:
        raise ValueError("is negative")
    if number > COUNT_LIMIT:
        raise ValueError("is implausibly large")
    return int(number)


def finite(value: Any) -> float:
    """A finite number; an integer that no float holds is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError("is not a number")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError("is not finite") from None
    if not math.isfinite(number):
        raise ValueError("is not finite")
    return number


def not_negative(value: Any) -> float:
    """A finite number of at least 0."""
    number = finite(value)
    if number < 0:
        raise ValueError("is negative")
    return number


def within(value: Any, limit: float) -> float:
    """A number from -`limit` to `limit`."""
    number = finite(value)
    if abs(number) > limit:
        raise ValueError("is implausibly large")
    return number


def seconds(value: Any) -> float:
    """A duration from 0 to `SECONDS_LIMIT`."""
    return within(not_negative(value), SECONDS_LIMIT)


def check_names(names: Iterable[str]) -> None:
    """Raise ValueError for names of counters or phases that a console cannot show, or for too many of them."""
    listed = list(names)
    if len(listed) > _MOST_NAMES:
        raise ValueError(f"has {len(listed)} names")
    if not all(_NAME.fullmatch(name) for name in listed):
        raise ValueError("has a name that is over-long or not of letters, digits, space and ._-")


def printable(value: str, limit: int) -> str:
    """The text on one line of at most `limit` characters, with escapes for what no console should be sent."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in value[:limit])
    return shown if len(value) <= limit and len(shown) <= limit else shown[: limit - 3] + "..."
