"""Checks of the folder of a new run: it must be empty and writable."""

import os
from contextlib import suppress
from pathlib import Path

from pfedgp_core.errors import ArtefactError
from server.run.claim import LOCK_FILE
from server.run.files import explained, is_partial

__all__ = ["check_new_folder", "refuse_used", "used"]

TRIES = 20
_MARKS_OF_A_RUN = ("config.toml", "metrics.jsonl", "summary.json", "best", "final")


def check_new_folder(path: Path) -> None:
    """Find out before a run whether its folder can be made and written, leaving nothing behind.

    Raises
    ------
    ArtefactError
        The folder holds a run already, or cannot be written.
    """
    refuse_used(path)
    made = [folder for folder in (path, *path.parents) if not folder.exists()]
    probe = path / f".probe-{os.getpid()}"
    try:
        with explained(path):
            _make(path)
            probe.write_bytes(b"pfedgp")
            probe.unlink()
    finally:
        for folder in made:
            with suppress(OSError):  # it holds something, or the check of a run beside this one has removed it
                folder.rmdir()


def _make(path: Path) -> None:
    """Make a folder, though checks of other runs may remove the ones above it while they are empty."""
    for _ in range(TRIES):
        with suppress(FileNotFoundError):
            path.mkdir(parents=True, exist_ok=True)
            return
    path.mkdir(parents=True, exist_ok=True)


def refuse_used(path: Path) -> None:
    """Raise ArtefactError where the path is a file, or a folder that holds a run or anything else."""
    with explained(path):
        if path.exists() and not path.is_dir():
            raise ArtefactError(f"{path} is a file: give a folder that does not exist yet with --out.")
        if any((path / name).exists() for name in _MARKS_OF_A_RUN):
            raise used(path)
        # A run that was killed before its first file leaves its lock, which nobody holds, and at most half a file.
        names = [file.name for file in path.iterdir()] if path.is_dir() else []
        if any(name != LOCK_FILE and not is_partial(name) for name in names):
            raise ArtefactError(f"{path} is not empty: give a folder of its own with --out, nothing in it is touched.")


def used(path: Path) -> ArtefactError:
    """The error for a folder that holds a run."""
    return ArtefactError(f"The folder {path} already holds a run: give another one with --out, or move it away.")
