"""The range of images' values, which says what a number in a pixel means: no federation mixes two of them.

============  =========================================================================================
range         values
============  =========================================================================================
``0..255``    8 bits, or numbers on their scale
``0..1``      shares of white
``0..65535``  16 bits without a sign, or numbers on their scale; cameras that fill 12 of them as well
``open``      numbers of a unit, such as Hounsfield: negative, or beyond these ranges
============  =========================================================================================

Values of the first three enter a network as shares of their largest number, those of ``open`` as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = [
    "BYTES",
    "OPEN",
    "RANGES",
    "UNIT",
    "WORDS",
    "Extent",
    "extent_of",
    "in_numbers",
    "joined_inputs",
    "range_text",
    "usual_range",
]

BYTES, UNIT, WORDS, OPEN = "0..255", "0..1", "0..65535", "open"
LARGEST = {BYTES: 255, UNIT: 1, WORDS: 65535}
RANGES = (*LARGEST, OPEN)


@dataclass(frozen=True)
class Extent:
    """What the values of images say of their range.

    Attributes
    ----------
    kind : str
        ``uint8``, ``uint16``, ``integer`` for any other whole numbers, ``float``, ``bool``, or ``rescaled`` for numbers
        that a header makes of stored ones.
    low, high : float
        The smallest and the largest value; NaN and infinity do not count.
    whole : bool
        Whether all are whole numbers.
    """

    kind: str
    low: float
    high: float
    whole: bool

    def joined(self, other: "Extent") -> "Extent":
        """That of both images, which are of one kind."""
        return Extent(self.kind, min(self.low, other.low), max(self.high, other.high), self.whole and other.whole)

    def guess(self) -> str:
        """The range that the values have where nobody says it."""
        if self.kind in ("uint8", "uint16", "bool"):
            return {"uint8": BYTES, "uint16": WORDS, "bool": UNIT}[self.kind]
        if (
            self.kind == "rescaled"
            or self.low < 0
            or self.high > LARGEST[WORDS]
            or (self.high > LARGEST[BYTES] and not self.whole)
        ):
            return OPEN
        return next(name for name in (UNIT, BYTES, WORDS) if self.high <= LARGEST[name])

    def inside(self, name: str) -> bool:
        """Whether no value lies outside a range."""
        return name == OPEN or (self.low >= 0 and self.high <= LARGEST[name])

    def fits(self, name: str) -> bool:
        """Whether the values can be some of a range: a part of them alone does not show the whole of it."""
        guess = self.guess()
        if guess == name or (self.low == self.high == 0 and self.kind != "uint8"):  # black is in every range
            return True
        if name == OPEN and self.kind == "float":  # single images of a unit may lie in any range
            return not self.whole or guess == WORDS
        if name == OPEN:
            return self.kind == "integer" and guess == WORDS
        return name == WORDS and guess == OPEN and self.inside(WORDS)  # 16 bits that were resized


def extent_of(values: np.ndarray) -> Extent:
    """The extent of images [...] of any numbers; of none, that of black ones."""
    kind = str(values.dtype) if values.dtype in (np.uint8, np.uint16, np.bool_) else "integer"
    if values.dtype.kind != "f":
        low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
        return Extent(kind, low, high, True)
    finite = values[np.isfinite(values)]
    if not finite.size:
        return Extent("float", 0.0, 0.0, True)
    return Extent("float", float(finite.min()), float(finite.max()), bool((finite == np.floor(finite)).all()))


def in_numbers(values: np.ndarray, name: str) -> np.ndarray:
    """Images as samples have them: bytes as bytes, any other values as float32, those of a bounded range in [0, 1].

    Whether images become bytes is decided by their type and range alone, so that parts of a file are alike.
    """
    if name == BYTES and values.dtype.kind in "iu":
        return values.astype(np.uint8, copy=False)
    made = values.astype(np.float32)
    if name in LARGEST and name != UNIT:
        made /= np.float32(LARGEST[name])
    return made


def joined_inputs(parts: Sequence[np.ndarray]) -> np.ndarray:
    """The inputs of several parts of one kind of data; bytes become shares where another part has those."""
    if len({part.dtype for part in parts}) > 1:
        parts = [in_numbers(part.astype(np.float32), BYTES) if part.dtype == np.uint8 else part for part in parts]
    return np.concatenate(parts)


def usual_range(name: str, input_shape: tuple[int, ...]) -> str:
    """The range that is meant where a description of a former version names none; empty for vectors."""
    return name or (BYTES if len(input_shape) == 3 else "")


def range_text(name: str) -> str:
    """A range in words, as "values from 0 to 255"."""
    if name == OPEN:
        return "values of an open range, as Hounsfield units have"
    return f"values from 0 to {LARGEST[name]:,}"
