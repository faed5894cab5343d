"""Folders and files for their owner alone: keys, tokens, samples, features and posteriors."""

import os
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from pfedgp_core.errors import ArtefactError
from pfedgp_core.files.whole import explained

__all__ = ["OTHERS", "as_private", "private_folder", "tighten"]

OTHERS = 0o077  # the rights of everybody but the owner
_FILE_SYSTEM_OWN = "lost+found"


def private_folder(path: Path, ours: Collection[str]) -> None:
    """Make a folder that its owner alone can read, or take the rights of others from one that is there.

    Parameters
    ----------
    path : Path
    ours : collection of str
        Names by which a folder of former times is known. Of a folder that holds other things, the user decides.

    Raises
    ------
    ArtefactError
        The folder cannot be made, or others may read it and it cannot be told that nobody relies on that.
    """
    with explained(path):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.stat()
        if not found.st_mode & OTHERS:
            return
        names = {inner.name for inner in path.iterdir()} - {_FILE_SYSTEM_OWN}
    if found.st_mode & (stat.S_ISVTX | stat.S_IWOTH) or (names and names.isdisjoint(ours)):
        raise _open_to_others(path, f"chmod 700 {path}, or choose a folder of its own")
    try:
        path.chmod(0o700)
    except PermissionError:
        raise _open_to_others(path, f"as its owner, chmod 700 {path}") from None
    if path.stat().st_mode & OTHERS:
        raise _open_to_others(path, "choose a folder on a file system that has rights")


def tighten(folder: Path, below: Collection[str] = ()) -> None:
    """Take the rights of others from the files of a folder, and from its folders `below` with all that is in them.

    Raises
    ------
    ArtefactError
        A file is another user's.
    """
    with explained(folder):
        tops = [path for path in folder.iterdir() if path.is_file() or path.name in below]
        for path in [*tops, *(inner for top in tops if top.is_dir() for inner in top.rglob("*"))]:
            mode = stat.S_IMODE(path.lstat().st_mode)
            if mode & OTHERS and not path.is_symlink():
                path.chmod(mode & ~OTHERS)


@contextmanager
def as_private() -> Iterator[int]:
    """Give what this process makes meanwhile, and its children, to its owner alone; yields the former umask."""
    former = os.umask(OTHERS)
    try:
        yield former
    finally:
        os.umask(former)


def _open_to_others(path: Path, remedy: str) -> ArtefactError:
    mode = stat.S_IMODE(path.stat().st_mode)
    return ArtefactError(f"Other users of this machine may read {path} (mode {mode:04o}), which is private: {remedy}.")
