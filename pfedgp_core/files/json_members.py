"""The members of a large JSON object one by one: memory for the text and one member, not for all of its values.

A Python object takes many times the bytes of its text, so that a file of images as lists of numbers would not fit.
"""

import json
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from pfedgp_core.files.json_file import require_bounded
from pfedgp_core.files.memory import require_free
from pfedgp_core.files.regular import MalformedError, decoding, read_regular

__all__ = ["members"]

_LARGEST = 4 * 1024**3  # bytes
_SPACE = re.compile(r"[ \t\n\r]*")


def members(path: Path, inner: Collection[str]) -> Iterator[tuple[str, str, Any]]:
    """Read the object in a file, a member at a time.

    Parameters
    ----------
    path : Path
    inner : collection of str
        Members that are large objects themselves: theirs come one by one.

    Yields
    ------
    tuple of str, str and any value
        Of a member of the object: its name, an empty text, its value. Of a member of one of `inner`: the latter's
        name, its own, its value.

    Raises
    ------
    MissingFileError
        There is no such file.
    UnreadableFileError
        It is no such JSON, is cut, names a member twice, holds NaN, infinity or integers beyond 64 bits, is nested
        too deep or larger than memory.
    """
    with decoding(path):
        require_free(2 * path.stat().st_size if path.is_file() else 0)
        text = read_regular(path, _LARGEST).decode("utf-8-sig")
    reader = _Reader(text)
    with decoding(path):
        yield from reader.walk(inner)


class _Reader:
    """A place in a text, which goes on from value to value."""

    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0
        self._decoder = json.JSONDecoder(object_pairs_hook=_without_twins, parse_constant=_no_number)

    def walk(self, inner: Collection[str]) -> Iterator[tuple[str, str, Any]]:
        """All members, and then the end of the text."""
        for name in self.names():
            if name not in inner:
                yield name, "", self.value()
                continue
            for own in self.names():
                yield name, own, self.value()
        self._skip()
        if self.place < len(self.text):
            raise MalformedError("it goes on after its object")

    def names(self) -> Iterator[str]:
        """The names of an object that begins here; the caller reads each value before the next name."""
        self._take("{")
        seen: set[str] = set()
        if self._next("}"):
            return
        while True:
            name = self.value()
            if not isinstance(name, str):
                raise MalformedError("a member of it has no name")
            if name in seen:
                raise MalformedError(f"it has the key {name[:40]!r} twice")
            seen.add(name)
            self._take(":")
            yield name
            if self._next("}"):
                return
            self._take(",")

    def value(self) -> Any:
        """The value that begins here."""
        self._skip()
        try:
            found, self.place = self._decoder.raw_decode(self.text, self.place)
        except json.JSONDecodeError as error:
            raise MalformedError(f"it is no JSON or cut: {error.msg}, character {error.pos}") from error
        require_bounded(found)
        return found

    def _skip(self) -> None:
        found = _SPACE.match(self.text, self.place)
        self.place = found.end() if found else self.place

    def _next(self, character: str) -> bool:
        """Whether this character is next; then it is read."""
        self._skip()
        there = self.text.startswith(character, self.place)
        self.place += there
        return there

    def _take(self, character: str) -> None:
        if not self._next(character):
            raise MalformedError(f"it is no object or cut: {character!r} is missing, character {self.place}")


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise MalformedError("it has a key twice")
    return content


def _no_number(name: str) -> None:
    raise MalformedError(f"it holds {name}, which is no number")
