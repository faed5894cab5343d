"""A large JSON object, member by member."""

import json
from pathlib import Path

import pytest

from pfedgp_core.errors import MissingFileError, UnreadableFileError
from pfedgp_core.files.json_members import members


def read(tmp_path: Path, text: str) -> list[tuple[str, str, object]]:
    path = tmp_path / "a.json"
    path.write_text(text)
    return list(members(path, ("inner",)))


@pytest.mark.parametrize("indent", [None, 2])
def test_members_come_in_their_order(tmp_path: Path, indent: int | None) -> None:
    content = {"a": [1, 2], "inner": {"x": {"y": [0.5]}, "z": None}, "b": "text"}
    found = read(tmp_path, json.dumps(content, indent=indent))
    assert found == [("a", "", [1, 2]), ("inner", "x", {"y": [0.5]}), ("inner", "z", None), ("b", "", "text")]


@pytest.mark.parametrize("text", ["{}", ' { "inner" : { } } \n'])
def test_an_object_can_be_empty(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no object or cut"),
        ("[1]", "no object or cut"),
        ('{"a": 1', "no object or cut"),
        ('{"a": [1, 2', "no JSON or cut"),
        ('{"inner": {"x": 1}', "no object or cut"),
        ('{"inner": 3}', "no object or cut"),
        ('{"a" 1}', "':' is missing"),
        ("{1: 2}", "has no name"),
        ('{"a": 1, "a": 2}', "the key 'a' twice"),
        ('{"inner": {"x": 1, "x": 2}}', "the key 'x' twice"),
        ('{"a": {"x": 1, "x": 2}}', "a key twice"),
        ('{"a": NaN}', "NaN"),
        ('{"a": 1e999}', "not finite"),
        ('{"a": 1} {}', "goes on after its object"),
        ('{"a": ' + "[" * 60 + "]" * 60 + "}", "nested too deep"),
        ('{"a": ' + "[" * 100_000, "nested too deep"),
    ],
)
def test_what_is_no_such_object_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(UnreadableFileError, match=reason):
        read(tmp_path, text)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        list(members(tmp_path / "none", ()))


def test_a_file_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes('{"a": "ü"}'.encode("latin-1"))
    with pytest.raises(UnreadableFileError, match="not UTF-8"):
        list(members(path, ()))
