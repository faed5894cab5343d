"""A line of an audit log: canonical JSON with its number, its time, the hash of the line before, and its own."""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pfedgp_core.checks import count, text
from pfedgp_core.files.json_file import parse_object
from pfedgp_core.files.regular import MalformedError

__all__ = ["DAMAGED", "FIRST", "LONGEST", "TORN", "line_of", "parse_line"]

FIRST = "0" * 64  # hash before the first line
TORN = "torn"  # event of the line after one that a kill has cut
DAMAGED = "damaged"  # the same after lines that were there and are gone
LONGEST = 1_000_000  # bytes of a line
_OURS = ("n", "time", "event", "prev", "hash")


def line_of(number: int, previous: str, event: str, fields: Mapping[str, Any]) -> tuple[bytes, str]:
    """Return a line, with its end, and its hash.

    Parameters
    ----------
    number : int
        From 1, one more than that of the line before.
    previous : str
        Hash of the line before, `FIRST` where there is none.
    event : str
    fields : mapping
        What JSON can hold; none of the names that every line has.
    """
    assert not set(fields) & set(_OURS)
    about = {"n": number, "time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event}
    about |= {"prev": previous, **fields}
    digest = _digest(about)
    return _canonical(about | {"hash": digest}) + b"\n", digest


def parse_line(line: bytes) -> dict[str, Any]:
    """Read a line without its end.

    Raises
    ------
    MalformedError
        It is none, is written otherwise than `line_of` writes, or its hash is not that of its content.
    """
    about = parse_object(line, LONGEST)
    try:
        count(about["n"])
        for key in _OURS[1:]:
            text(about[key])
    except (KeyError, TypeError, ValueError) as error:
        raise MalformedError("it lacks what every line has") from error
    if _canonical(about) != line:
        raise MalformedError("it is written otherwise than the log writes")
    if _digest({key: value for key, value in about.items() if key != "hash"}) != about["hash"]:
        raise MalformedError("its hash is not that of its content")
    return about


def _canonical(about: Mapping[str, Any]) -> bytes:
    return json.dumps(about, sort_keys=True, separators=(",", ":")).encode()


def _digest(about: Mapping[str, Any]) -> str:
    return hashlib.sha256(_canonical(about)).hexdigest()
