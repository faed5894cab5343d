"""Writing files so that a crash or a full disk leaves the former content whole, and says so in one sentence."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pfedgp_core.errors import ArtefactError

__all__ = ["append_line", "explained", "write_new", "write_whole"]


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn a failure of the file system into an ArtefactError that names the path and the remedy."""
    try:
        yield
    except OSError as error:
        raise ArtefactError(
            f"Cannot write {path} ({error.strerror or error}): make room and rights there, or choose another folder."
        ) from error
    except UnicodeEncodeError as error:
        raise ArtefactError(f"Cannot write {path}: {error.object!r} is not valid text, rename it.") from error


def write_whole(path: Path, content: str | bytes) -> None:
    """Create or replace a file in one step: its name stands for the whole former or the whole new content.

    Raises
    ------
    ArtefactError
        The file cannot be written; the former content, if any, is still there.
    """
    with explained(path):
        path = path.resolve()  # through a link, the file it stands for is replaced and not the link
        if path.exists() and not path.is_file():
            raise ArtefactError(f"{path} is no regular file, so it cannot be replaced: give the path of a file.")
    partial = path.with_name(f".{path.name}.partial")
    with explained(path):
        try:
            with partial.open("wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                _to_disk(file)
            os.replace(partial, path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        _folder_to_disk(path.parent)


def write_new(path: Path, text: str) -> bool:
    """Create a file that must not exist yet; of two processes that try at once, one succeeds.

    Returns
    -------
    bool
        False where the file exists already; it is left as it is.
    """
    with explained(path):
        data = text.encode()
        try:
            file = path.open("xb")
        except FileExistsError:
            return False
        try:
            with file:
                file.write(data)
                _to_disk(file)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        _folder_to_disk(path.parent)
    return True


def append_line(path: Path, line: str) -> None:
    """Add a line to a file, on disk when this returns; a failure leaves no half line behind."""
    with explained(path), path.open("ab") as file:
        end = file.seek(0, os.SEEK_END)
        try:
            file.write(line.encode() + b"\n")
            _to_disk(file)
        except OSError:
            os.truncate(path, end)
            raise


def _to_disk(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _folder_to_disk(folder: Path) -> None:
    """Make a new name outlast a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:
        # Some network file systems cannot sync a folder; the content itself is on disk already.
        pass
    finally:
        os.close(handle)
