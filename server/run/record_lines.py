"""Lines of ``metrics.jsonl``: the record of a round, read back and checked field by field."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pfedgp_core.checks import MALFORMED, count, finite, integer, text
from pfedgp_core.errors import DamagedStateError
from pfedgp_core.files.json_file import parse_object
from pfedgp_core.files.regular import MalformedError

__all__ = ["WITH_UPDATE", "check_record", "parse_record", "read_record"]

WITH_UPDATE = "with its update: "  # why an evaluation is missing whose train request failed as a whole
_NEEDED = ("round", "failed", "seconds")


def read_record(line: str) -> dict[str, Any]:
    """Read a line of ``metrics.jsonl``; DamagedStateError where it is none."""
    try:
        return check_record(parse_object(line))
    except MalformedError as error:
        raise DamagedStateError(f"metrics.jsonl is damaged ({error}): restore it from a copy.") from error


def parse_record(line: str | bytes) -> dict[str, Any]:
    """The record in a line, of which more than its round may be missing; MalformedError where it is none."""
    return check_record(parse_object(line), ("round",))


def check_record(record: Any, needed: Sequence[str] = _NEEDED) -> dict[str, Any]:
    """The record itself, if every field that a run goes on with is what it should be.

    Raises
    ------
    MalformedError
        A field is missing or something else.
    """
    if not isinstance(record, dict) or not all(key in record for key in needed):
        raise MalformedError("a line is no record of a round")
    for key, value in record.items():
        try:
            _CHECKS.get(key, _number if key.startswith("validation_") else _anything)(value)
        except MALFORMED as error:
            raise MalformedError(f"field {key[:60]!r} {error}") from error
    return record


def _anything(value: Any) -> None:
    """Fields that are only shown."""


def _number(value: Any) -> None:
    if value is not None:
        finite(value)


def _table(check: Callable[[Any], object]) -> Callable[[Any], None]:
    def checked(value: Any) -> None:
        if not isinstance(value, Mapping):
            raise TypeError("is no object")
        for each in value.values():
            check(each)

    return checked


def _texts(value: Any) -> None:
    if not isinstance(value, list):
        raise TypeError("is no list")
    for each in value:
        text(each)


_CHECKS: dict[str, Callable[[Any], object]] = {
    "round": count,
    "sampled": _texts,
    "ok": count,
    "failed": _table(text),
    "late": _texts,
    "late_updates": count,
    "validation_failed": _table(text),
    "evaluated": count,
    "evaluated_of": count,
    "standard_errors": _table(finite),
    "counters": _table(integer),
    "seconds": _table(finite),
    "gradients": count,
    "bytes_sent": integer,
    "bytes_received": integer,
    "bytes_evaluation": integer,
    "train_loss": _number,
    "update_norm": _number,
}
