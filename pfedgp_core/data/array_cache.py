"""Decoded arrays on disk, memory-mapped, so that many processes on one machine decode a data set once.

An entry is a folder of .npy files that appears whole or not at all. The cache is never needed: where its folder cannot
be written, or an entry is damaged, the arrays are built in memory.
"""

import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

__all__ = ["cache_folder", "cached_arrays"]

log = logging.getLogger(__name__)


def cache_folder() -> Path:
    """Return ``$XDG_CACHE_HOME/pfedgp``, or ``~/.cache/pfedgp`` where that variable is not set."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path(os.path.expanduser("~")) / ".cache") / "pfedgp"  # noqa: PTH111 (Path.home() fails for a user without a home)


def cached_arrays(
    key: str, names: Sequence[str], build: Callable[[], dict[str, np.ndarray]], folder: Path | None = None
) -> dict[str, np.ndarray]:
    """Return ``build()``, from disk if it was built before.

    Parameters
    ----------
    key : str
        Name of the entry; must change whenever ``build`` would return something else.
    names : sequence of str
        The keys of what ``build`` returns.
    build : callable
        Makes the arrays; what it raises passes through.
    folder : Path, optional
        Default: ``cache_folder()``.

    Returns
    -------
    dict of str to numpy.ndarray
        Read-only memory maps, or arrays in memory where the cache is of no use.
    """
    entry = (folder or cache_folder()) / key
    stored = _load(entry, names)
    if stored is not None:
        return stored
    arrays = build()
    try:
        _store(entry, arrays)
    except OSError as error:
        log.warning(
            "Decoded images are not kept: %s cannot be written (%s); they are decoded at each start.", entry, error
        )
        return arrays
    return _load(entry, names) or arrays


def _load(entry: Path, names: Sequence[str]) -> dict[str, np.ndarray] | None:
    try:
        return {name: np.load(entry / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in names}
    except FileNotFoundError:
        return None
    except Exception as error:  # noqa: BLE001 (a damaged entry finds errors that no list foresees)
        log.warning("The cache entry %s cannot be read (%s); the images are decoded again.", entry, error)
        return None


def _store(entry: Path, arrays: dict[str, np.ndarray]) -> None:
    entry.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{entry.name}-", dir=entry.parent))
    try:
        for name, array in arrays.items():
            np.save(draft / f"{name}.npy", array, allow_pickle=False)
        _publish(draft, entry)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _publish(draft: Path, entry: Path) -> None:
    try:
        os.replace(draft, entry)
    except OSError:
        if not entry.is_dir():
            raise
        # Another process was faster, or a damaged entry is in the way. Replacing file by file is right in both cases:
        # the key fixes the content, and open memory maps keep the old file.
        for path in draft.iterdir():
            os.replace(path, entry / path.name)
