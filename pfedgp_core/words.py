"""Counts, lists, shapes and sizes in sentences, as messages to people use them."""

import math
from collections.abc import Sequence

__all__ = ["SHOWN", "counted", "cut", "few", "rounded_up", "shape_text", "size"]

SHOWN = 5  # examples in a sentence
LONGEST = 200  # characters of an example


def few(texts: Sequence[str], shown: int = SHOWN) -> str:
    """The first texts, the long ones cut, and how many there are beyond them."""
    more = len(texts) - shown
    return ", ".join(cut(text, LONGEST) for text in texts[:shown]) + (f" and {more} more" if more > 0 else "")


def cut(text: object, most: int) -> str:
    """A value as text on one line, of at most `most` characters."""
    line = " ".join(str(text)[: 10 * most].split())
    return line if len(line) <= most else line[: most - 3] + "..."


def counted(n: int, noun: str) -> str:
    """A number with its noun: ``1 image``, ``2 images``."""
    return f"{n} {noun}" + ("" if n == 1 else "s")


def shape_text(shape: Sequence[int]) -> str:
    """A shape in words: ``1 x 8 x 8``."""
    return " x ".join(map(str, shape))


def rounded_up(value: float) -> str:
    """A positive number of two digits that is no smaller.

    Examples
    --------
    >>> rounded_up(0.4512), rounded_up(31.0), rounded_up(1e-6)
    ('0.46', '31', '1e-06')
    """
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    rounded = round(value / step) * step
    return f"{rounded if rounded >= value else math.ceil(value / step) * step:.2g}"


def size(count: float) -> str:
    """Bytes, in the decimal unit that reads best.

    Examples
    --------
    >>> size(45_000_000), size(1_234)
    ('45.0 MB', '1.2 kB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
