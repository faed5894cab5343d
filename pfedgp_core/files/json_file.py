"""JSON of others: bounded in size, depth and numbers, no key twice, and an object or a list where one is expected."""

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

from pfedgp_core.files.regular import LARGEST_TEXT, MalformedError, decoding, read_regular

__all__ = ["DEEPEST", "parse_json", "parse_list", "parse_object", "read_list", "read_object", "require_bounded"]

DEEPEST = 50  # lists and objects within each other
_INTEGERS = 2**64  # bound of an integer


def parse_object(text: str | bytes, most: int = LARGEST_TEXT) -> dict[str, Any]:
    """The object that a text holds. Raises as `parse_json`."""
    content = parse_json(text, most)
    if not isinstance(content, dict):
        raise MalformedError("it is no object")
    return content


def parse_list(text: str | bytes, most: int = LARGEST_TEXT) -> list[Any]:
    """The list that a text holds. Raises as `parse_json`."""
    content = parse_json(text, most)
    if not isinstance(content, list):
        raise MalformedError("it is no list")
    return content


def parse_json(text: str | bytes, most: int = LARGEST_TEXT) -> Any:
    """The value that a text in JSON holds.

    Parameters
    ----------
    text : str or bytes
        Bytes are UTF-8, with or without a byte order mark.
    most : int
        Characters or bytes that the text may have.

    Raises
    ------
    MalformedError
        It is no JSON, over-long, nested too deep, names a key twice, or holds NaN, infinity or an integer beyond 64
        bits.
    """
    if not isinstance(text, str | bytes):
        raise MalformedError("it is no text")
    if len(text) > most:
        raise MalformedError(f"it has more than {most} characters")
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        content = json.loads(text, object_pairs_hook=_without_twins, parse_constant=_no_number)
    except MalformedError:
        raise
    except json.JSONDecodeError as error:
        raise MalformedError(f"it is no JSON: {error.msg}, line {error.lineno} column {error.colno}") from error
    except UnicodeDecodeError as error:
        raise MalformedError(f"it is not UTF-8 text, byte {error.start}") from error
    except RecursionError as error:
        raise MalformedError("it is nested too deep") from error
    except MemoryError as error:
        raise MalformedError("it does not fit into memory") from error
    except ValueError as error:  # of integers with thousands of digits
        raise MalformedError("it holds an integer beyond 64 bits") from error
    require_bounded(content)
    return content


def read_object(path: Path, most: int = LARGEST_TEXT) -> dict[str, Any]:
    """The object in a file.

    Raises
    ------
    MissingFileError
        There is no such file.
    UnreadableFileError
        It cannot be read, or holds something else; see `parse_json`.
    """
    with decoding(path):
        return parse_object(read_regular(path, most), most)


def read_list(path: Path, most: int = LARGEST_TEXT) -> list[Any]:
    """The list in a file. Raises as `read_object`."""
    with decoding(path):
        return parse_list(read_regular(path, most), most)


def require_bounded(content: Any) -> None:
    """Raise MalformedError for values nested beyond `DEEPEST`, integers beyond 64 bits, NaN and infinity."""
    level: list[Any] = [content]
    for depth in range(DEEPEST + 1):
        below: list[Any] = []
        for value in level:
            kind = type(value)
            if kind is dict:
                below += value.values()
            elif kind is list:
                below += value
            elif kind is int:
                if not -_INTEGERS < value < _INTEGERS:
                    raise MalformedError("it holds an integer beyond 64 bits")
                continue
            elif kind is float:
                if not math.isfinite(value):
                    raise MalformedError("it holds a number that is not finite")
                continue
            else:
                continue
            if depth == DEEPEST:
                raise MalformedError("it is nested too deep")
        level = below


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        twin = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise MalformedError(f"it has the key {twin[:40]!r} twice")
    return content


def _no_number(name: str) -> None:
    raise MalformedError(f"it holds {name}, which is no number")
