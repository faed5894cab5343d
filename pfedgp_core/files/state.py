"""Files that pFedGP itself keeps, such as a checkpoint: what is wrong with them is no mistake in a command."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pfedgp_core.errors import DamagedStateError, UnreadableFileError
from pfedgp_core.files.regular import one_line

__all__ = ["kept"]


@contextmanager
def kept(path: Path) -> Iterator[None]:
    """Turn what is wrong with a file into a DamagedStateError, whose exit code is that of a failed run.

    Parameters
    ----------
    path : Path
        Named where the file system refuses without naming any.
    """
    try:
        yield
    except UnreadableFileError as error:
        raise _damaged(error.path, error.reason) from error
    except OSError as error:
        raise _damaged(path, one_line(error)) from error


def _damaged(path: Path, reason: str) -> DamagedStateError:
    return DamagedStateError(
        f"{path} cannot be read ({reason}): restore it from a copy, or give this user the right to read it."
    )
