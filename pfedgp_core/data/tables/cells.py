"""One cell of a table: a number, a gap, or a text; in the form of numbers that the whole file has."""

import math
import re

__all__ = ["MISSING", "cell_value", "is_boolean", "number_text", "text_of_number"]

MISSING = frozenset(("", "na", "n/a", "nan", "null", "none", "#n/a", "<na>", "nat"))
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_BOOLEAN = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}


def cell_value(text: str, decimal: str = ".") -> float | str:
    """A number, NaN for a gap, or the text that is neither.

    Parameters
    ----------
    text : str
        Spaces around it do not count.
    decimal : {".", ","}
        The mark before decimals; the other one makes a text.

    Examples
    --------
    >>> cell_value("-0,5", ","), cell_value("<0.5"), cell_value("n/a")
    (-0.5, '<0.5', nan)
    """
    text = text.strip()
    if text.lower() in MISSING:
        return math.nan
    plain = number_text(text, decimal)
    if _NUMBER.fullmatch(plain):
        return float(plain)
    if plain.lower().lstrip("+-") in ("inf", "infinity"):
        return float(plain)
    return text


def number_text(text: str, decimal: str) -> str:
    """A number as Python writes it, where the text is one; else a text that is none."""
    if decimal == ".":
        return text
    return text.replace(",", ".") if "." not in text else f"{text} "


def text_of_number(value: float) -> str:
    """A number as a text by which categories are compared: a whole one has no decimals."""
    return str(int(value)) if math.isfinite(value) and value == int(value) else repr(value)


def is_boolean(text: str) -> float | None:
    """1 for true and yes, 0 for false and no, in any case; None for anything else."""
    return _BOOLEAN.get(text.lower())
