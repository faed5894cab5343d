"""JSON of others: what an honest writer never writes is refused with its reason."""

import json
from pathlib import Path

import pytest

from pfedgp_core.errors import UnreadableFileError
from pfedgp_core.files.json_file import DEEPEST, parse_json, parse_object, read_list, read_object
from pfedgp_core.files.regular import MalformedError


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is no JSON"),
        ("{", "it is no JSON"),
        (b"\xff", "it is not UTF-8 text, byte 0"),
        (b'{"a": "\xe9"}', "it is not UTF-8 text, byte 7"),
        ("[" * 100_000, "it is nested too deep"),
        (nested(DEEPEST + 1), "it is nested too deep"),
        ('{"a":' * 60 + "1" + "}" * 60, "it is nested too deep"),
        ("9" * 5000, "an integer beyond 64 bits"),
        (f"[{2**64}]", "an integer beyond 64 bits"),
        ("[-1e999]", "a number that is not finite"),
        ("[NaN]", "NaN, which is no number"),
        ("[-Infinity]", "-Infinity, which is no number"),
        ('{"a": 1, "b": {"x": 1, "x": 2}}', "the key 'x' twice"),
        (" " * 101, "more than 100 characters"),
        (3, "it is no text"),
    ],
)
def test_what_no_honest_writer_writes_is_refused(text: str, reason: str) -> None:
    with pytest.raises(MalformedError, match=reason):
        parse_json(text, most=100 if reason.startswith("more than") else 10**6)


def test_what_an_honest_writer_writes_is_read() -> None:
    value = {"a": [1, 2.5, None, True, "é", {"": []}], "n": 2**64 - 1, "m": -(2**63)}
    assert parse_json(json.dumps(value)) == value
    assert parse_json(b"\xef\xbb\xbf" + json.dumps(value).encode()) == value
    assert parse_json(nested(DEEPEST)) == json.loads(nested(DEEPEST))


def test_an_object_is_asked_for() -> None:
    with pytest.raises(MalformedError, match="it is no object"):
        parse_object("[]")


def test_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    assert read_object(tmp_path / "a.json") == {}
    with pytest.raises(UnreadableFileError, match=r"a\.json cannot be read \(it is no list\)"):
        read_list(tmp_path / "a.json")
    (tmp_path / "a.json").write_text("[" * 10_000)
    with pytest.raises(UnreadableFileError, match=r"a\.json cannot be read \(it is nested too deep\)"):
        read_object(tmp_path / "a.json")
