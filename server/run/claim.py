"""One process writes a run's folder at a time: a lock that ends with the process that holds it."""

from pathlib import Path

from pfedgp_core.errors import ArtefactError
from pfedgp_core.files.lock import FileLock, is_locked
from server.run.files import explained

__all__ = ["LOCK_FILE", "RunLock", "is_claimed"]

LOCK_FILE = ".lock"


class RunLock(FileLock):
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
        with explained(path):
            path.mkdir(parents=True, exist_ok=True)

        def refused(who: str) -> ArtefactError:
            return ArtefactError(
                f"{path} is in use by {who}, which still runs: wait for its end, or stop that run first."
            )

        super().__init__(path / LOCK_FILE, refused)


def is_claimed(path: Path) -> bool:
    """Whether a process holds the lock of the folder `path` at the moment."""
    return is_locked(path / LOCK_FILE)
