"""Writing files so that a crash or a full disk leaves the former content whole, and says so in one sentence."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pfedgp_core.errors import ArtefactError

__all__ = ["CannotWriteError", "append_line", "explained", "is_partial", "truncate_lines", "write_new", "write_whole"]


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
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with explained(path):
        try:
            with partial.open("wb") as file:
                file.write(text.encode())
                _to_disk(file)
            try:
                os.link(partial, path)
            except FileExistsError:
                return False
            except OSError:  # a file system without links; there, the run's lock keeps a second process out
                if path.exists():
                    return False
                os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)
        _folder_to_disk(path.parent)
    return True


def is_partial(name: str) -> bool:
    """Whether a file is what a killed process left of a write; its name says so, and its content is worth nothing."""
    return name.startswith(".") and name.endswith(".partial")


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


def truncate_lines(path: Path, lines: int) -> list[str]:
    """Cut a file off after its first `lines` lines, on disk when this returns, and return them.

    Raises
    ------
    ArtefactError
        The file has fewer whole lines, or cannot be read or written.
    """
    with explained(path):
        content = path.read_bytes() if path.exists() else b""
        kept = content.splitlines(keepends=True)[:lines]
        if len(kept) < lines or any(not line.endswith(b"\n") for line in kept):
            raise ArtefactError(f"{path} has fewer than the {lines} lines that it had: restore it from a copy.")
        end = sum(map(len, kept))
        if end < len(content):
            with path.open("r+b") as file:
                file.truncate(end)
                _to_disk(file)
    return [line.decode("utf-8", "replace") for line in kept]


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
