"""A file that appears, or is replaced, whole: a crash or a full disk leaves the former content, and one sentence."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pfedgp_core.errors import ArtefactError

__all__ = ["CannotWriteError", "explained", "folder_to_disk", "replacing", "resolved", "to_disk", "write_whole"]


class CannotWriteError(ArtefactError):
    """The file system refused; `what` names path and reason, without the remedy, for those who know a better one."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}: {remedy}")
        self.what = what


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn a failure of the file system into an ArtefactError that names the path and the remedy."""
    try:
        yield
    except OSError as error:
        what = f"Cannot write {path} ({error.strerror or error})"
        raise CannotWriteError(what, "make room and rights there, or choose another folder.") from error
    except UnicodeEncodeError as error:
        raise ArtefactError(f"Cannot write {path}: {error.object!r} is not valid text, rename it.") from error


def write_whole(path: Path, content: str | bytes) -> None:
    """Create or replace a file in one step: its name stands for the whole former or the whole new content.

    Raises
    ------
    ArtefactError
        The file cannot be written; the former content, if any, is still there.
    """
    with replacing(path) as file, explained(path):
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Write a file a part at a time; it takes the place of the former one at the end of the block, if that is reached.

    Raises
    ------
    ArtefactError
        As `write_whole`; failures to write within the block are for the block to explain (`explained`).
    """
    with explained(path):
        path = resolved(path)  # through a link, the file it stands for is replaced and not the link
        if path.exists() and not path.is_file():
            raise ArtefactError(f"{path} is no regular file, so it cannot be replaced: give the path of a file.")
    partial = path.with_name(f".{path.name}.partial")
    with explained(path):
        file = partial.open("wb")
    try:
        with file:
            yield file
            with explained(path):
                to_disk(file)
        with explained(path):
            os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    with explained(path):
        folder_to_disk(path.parent)


def resolved(path: Path) -> Path:
    """The path that a path leads to; ArtefactError where it is a link that leads back to itself."""
    try:
        return path.resolve()
    except (RuntimeError, OSError) as error:
        raise ArtefactError(f"{path} is a link that leads back to itself: remove it, or give another path.") from error


def to_disk(file: BinaryIO) -> None:
    """Make what was written to a file outlast a power failure."""
    file.flush()
    os.fsync(file.fileno())


def folder_to_disk(folder: Path) -> None:
    """Make a new name outlast a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:
        # Some network file systems cannot sync a folder; the content itself is on disk already.
        pass
    finally:
        os.close(handle)
