"""TOML of others: bounded in size, depth and numbers."""

import re
import tomllib
from pathlib import Path
from typing import Any

from pfedgp_core.files.json_file import DEEPEST, require_bounded
from pfedgp_core.files.regular import MalformedError, decoding, read_text

__all__ = ["parse_toml", "read_toml"]

LARGEST = 1024 * 1024  # bytes
_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_KEY = re.compile(r"[^,=\[\]{}#]+")


def parse_toml(text: str) -> dict[str, Any]:
    """The table that a text in TOML holds.

    Raises
    ------
    MalformedError
        It is no TOML, nested too deep, or holds NaN, infinity or an integer beyond 64 bits.
    """
    # The time that tomllib takes grows with the square of the parts of a dotted key.
    if any(key.count(".") > 4 * DEEPEST for key in _KEY.findall(_COMMENT.sub("", text))):
        raise MalformedError("it is nested too deep")
    try:
        content = tomllib.loads(text)
    except RecursionError as error:
        raise MalformedError("it is nested too deep") from error
    except tomllib.TOMLDecodeError as error:
        raise MalformedError(f"not valid TOML: {error}") from error
    except ValueError as error:  # of integers with thousands of digits
        raise MalformedError("it holds an integer beyond 64 bits") from error
    require_bounded(content)
    return content


def read_toml(path: Path) -> dict[str, Any]:
    """The table in a file.

    Raises
    ------
    MissingFileError
        There is no such file.
    UnreadableFileError
        It cannot be read, or holds something else; see `parse_toml`.
    """
    with decoding(path):
        return parse_toml(read_text(path, LARGEST))
