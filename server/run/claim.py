"""One process writes a run's folder at a time: a lock that dies with the process that holds it."""

import fcntl
import os
from pathlib import Path
from types import TracebackType

from pfedgp_core.errors import ArtefactError
from server.run.files import explained

__all__ = ["LOCK_FILE", "RunLock", "is_locked"]

LOCK_FILE = ".lock"


class RunLock:
    """A context manager that holds the lock of a run's folder.

    Parameters
    ----------
    path : Path
        The folder; made where it does not exist.

    Raises
    ------
    ArtefactError
        Another process holds the lock, or the folder cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path / LOCK_FILE
        with explained(path):
            path.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._file, 20).decode("ascii", "replace").strip()
            os.close(self._file)
            raise ArtefactError(
                f"{path} is in use by {f'process {holder}' if holder else 'another process'}, which still runs: wait "
                "for its end, or stop that run first."
            ) from None
        except OSError as error:
            os.close(self._file)
            raise ArtefactError(
                f"{self.path} cannot be locked ({error.strerror}): choose a folder on a file system with locks."
            ) from error
        # Only words for whoever meets the lock; a full disk is no reason to do without it.
        try:
            os.truncate(self._file, 0)
            os.write(self._file, str(os.getpid()).encode())
        except OSError:
            pass

    def __enter__(self) -> "RunLock":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def release(self) -> None:
        """Let others have the folder; the file stays, because removing it could remove the lock of the next one."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock of the folder `path` at the moment."""
    try:
        file = os.open(path / LOCK_FILE, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(file)
    return False
