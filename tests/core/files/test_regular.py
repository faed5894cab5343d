"""The guard of every file that is read: regular files alone, bounded, and named where they cannot be read."""

import os
import socket
from pathlib import Path

import pytest

from pfedgp_core.errors import DataError, MissingFileError, UnreadableFileError
from pfedgp_core.files.regular import open_regular, read_regular, read_text


def reason(path: Path, most: int = 100) -> str:
    with pytest.raises(UnreadableFileError) as caught:
        read_regular(path, most)
    assert str(path) in str(caught.value)
    return caught.value.reason


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert reason(tmp_path / "pipe") == "it is a pipe"


def test_what_is_no_regular_file_is_named(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        assert reason(tmp_path / "socket") == "it is a socket"
    assert reason(tmp_path) == "it is a folder"
    assert reason(Path("/dev/zero")) == "it is a device"


def test_a_link_to_itself_is_named(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert "symbolic links" in reason(tmp_path / "loop")


def test_a_path_that_is_none_is_refused(tmp_path: Path) -> None:
    assert reason(Path("a\0b")) == "that is no path"
    assert "name too long" in reason(tmp_path / ("x" * 300))


def test_a_missing_file_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="No such file"):
        open_regular(tmp_path / "none")
    assert issubclass(MissingFileError, DataError)


def test_a_larger_file_than_allowed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(100))
    assert read_regular(tmp_path / "a", 100) == bytes(100)
    (tmp_path / "a").write_bytes(bytes(101))
    assert reason(tmp_path / "a") == "it has 101 B, more than 100 B"


def test_text_is_utf_8_with_or_without_a_mark(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfx")
    assert read_text(tmp_path / "a") == "x"
    (tmp_path / "a").write_bytes(b"ab\xff")
    with pytest.raises(UnreadableFileError, match="not UTF-8 text, byte 2"):
        read_text(tmp_path / "a")
