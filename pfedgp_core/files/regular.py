"""The one guard of every file that is read: a regular file, of bounded size, and an error with its name otherwise."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pfedgp_core.errors import MissingFileError, PFedGPError, UnreadableFileError
from pfedgp_core.words import cut, size

__all__ = [
    "LARGEST_TEXT",
    "MalformedError",
    "decoding",
    "one_line",
    "open_regular",
    "reachable",
    "read_regular",
    "read_text",
]

LARGEST_TEXT = 64 * 1024 * 1024  # bytes
_REASON = 120  # characters
_KINDS = {
    stat.S_IFDIR: "it is a folder",
    stat.S_IFIFO: "it is a pipe",
    stat.S_IFSOCK: "it is a socket",
    stat.S_IFCHR: "it is a device",
    stat.S_IFBLK: "it is a device",
}


class MalformedError(ValueError):
    """Content that is not what it should be; the text says why, in words that fit into brackets."""


def open_regular(path: Path) -> BinaryIO:
    """Open a file to be read; never waits for another process, as a pipe would.

    Raises
    ------
    MissingFileError
        There is no such file.
    UnreadableFileError
        It is no regular file, leads back to itself, or this user may not read it.
    """
    try:
        _refuse_others(path, path.stat())  # before it is opened: opening a device can act on it
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            _refuse_others(path, os.fstat(handle))
            return os.fdopen(handle, "rb")
        except BaseException:
            os.close(handle)
            raise
    except FileNotFoundError as error:
        raise MissingFileError(path, one_line(error)) from error
    except OSError as error:
        raise UnreadableFileError(path, one_line(error)) from error
    except ValueError as error:  # a null byte
        raise UnreadableFileError(path, "that is no path") from error


def read_regular(path: Path, most: int = LARGEST_TEXT) -> bytes:
    """The content of a file of at most `most` bytes. Raises as `open_regular`, and where the file is larger."""
    with open_regular(path) as file, decoding(path):
        length = os.fstat(file.fileno()).st_size
        content = b"" if length > most else file.read(most + 1)
        if max(length, len(content)) > most:
            raise MalformedError(f"it has {size(max(length, len(content)))}, more than {size(most)}")
        return content


def read_text(path: Path, most: int = LARGEST_TEXT) -> str:
    """The content of a file in UTF-8, with or without a byte order mark. Raises as `read_regular`."""
    with decoding(path):
        return read_regular(path, most).decode("utf-8-sig")


@contextmanager
def decoding(path: Path) -> Iterator[None]:
    """Turn whatever a decoder raises into an UnreadableFileError; a damaged file finds errors that no list foresees."""
    try:
        yield
    except PFedGPError:
        raise
    except Exception as error:
        raise UnreadableFileError(path, one_line(error)) from error


@contextmanager
def reachable(path: Path) -> Iterator[None]:
    """Turn a refusal of the file system, such as a folder without rights, into an UnreadableFileError."""
    try:
        yield
    except OSError as error:
        raise UnreadableFileError(path, one_line(error)) from error


def one_line(error: BaseException) -> str:
    """What went wrong, in few words."""
    if isinstance(error, UnreadableFileError):
        return error.reason
    if isinstance(error, UnicodeDecodeError):
        name = "UTF-8" if error.encoding.startswith("utf-8") else error.encoding
        return f"it is not {name} text, byte {error.start}"
    if isinstance(error, MemoryError):
        return "it does not fit into memory"
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = cut(error, _REASON).rstrip(".:")
    return text if isinstance(error, MalformedError) else text or type(error).__name__


def _refuse_others(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise UnreadableFileError(path, _KINDS.get(stat.S_IFMT(found.st_mode), "it is no file"))
