"""A lock on a file that one process holds at a time, and that is free again once this process has ended."""

import fcntl
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

from pfedgp_core.errors import ArtefactError, PFedGPError, UnreadableFileError
from pfedgp_core.files.regular import open_regular
from pfedgp_core.files.whole import explained

__all__ = ["FileLock", "holder", "is_locked"]

LOOKS, INSTANT = 5, 0.01  # how often a lock is tried again, and seconds between
_LONGEST = 20  # characters of a process id in the file


class FileLock:
    """A context manager that holds a lock from its making to its end.

    Parameters
    ----------
    path : Path
        The file; made where it does not exist. It holds the process id of the process that locked it last.
    refused : callable
        Given the words for the process that holds the lock, ``process 77`` or ``another process``, returns the error
        to raise.

    Raises
    ------
    PFedGPError
        The one of `refused`: another process holds the lock.
    ArtefactError
        The file cannot be made, or its file system has no locks.
    """

    def __init__(self, path: Path, refused: Callable[[str], PFedGPError]) -> None:
        self.path = path
        with explained(path.parent):
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            self._take()
        except BlockingIOError:
            os.close(self._file)
            pid = holder(path)
            raise refused(f"process {pid}" if pid else "another process") from None
        except OSError as error:
            os.close(self._file)
            raise ArtefactError(
                f"{path} cannot be locked ({error.strerror}): choose a folder on a file system with locks."
            ) from error
        # The process id only serves messages; a full disk is no reason to do without the lock.
        try:
            os.truncate(self._file, 0)
            os.write(self._file, f"{os.getpid()}\n".encode())
        except OSError:
            pass

    def _take(self) -> None:
        """Take it; who only looks at it holds it for an instant, and is no reason to refuse."""
        for _ in range(LOOKS):
            with suppress(BlockingIOError):
                return fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            time.sleep(INSTANT)
        return fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.release()

    def release(self) -> None:
        """Let others have the lock; the file stays, because removing it could remove the lock of the next process."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock of this file at the moment; False where the file cannot be read."""
    try:
        with open_regular(path) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except (OSError, UnreadableFileError):
        return False
    return False


def holder(path: Path) -> int:
    """The process id of the process that locked this file last; 0 where it is not known."""
    try:
        with open_regular(path) as file:
            text = file.read(_LONGEST).decode("ascii", "replace").strip()
    except (OSError, UnreadableFileError):
        return 0
    return int(text) if text.isascii() and text.isdecimal() else 0
