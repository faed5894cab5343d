"""One change of a saved site at a time: a file beside its folder, locked while the folder is read and replaced."""

import time
from pathlib import Path

from pfedgp_core.errors import ArtefactError, PFedGPError
from pfedgp_core.files.folder import is_interrupted, recover_folder, remove_leftovers
from pfedgp_core.files.lock import FileLock
from pfedgp_core.files.whole import resolved

__all__ = ["SiteChange", "changing", "recover_site"]

PATIENCE = 10.0  # seconds that a reader waits between the two renames of a writer
SWEPT = "Removed what a killed command had left beside the site: samples that it had taken out are gone from there too."


class SiteChange(FileLock):
    """The lock of a site at `path` while it is changed.

    Attributes
    ----------
    notes : list of str
        What a person should know of the site as it was found.
    """

    def __init__(self, path: Path) -> None:
        self.notes: list[str] = []
        self._site = path

        def refused(other: str) -> PFedGPError:
            who = f"{other[0].upper()}{other[1:]}"
            return _BusyError(f"{who} is changing the site at {path}: try again when it is done.")

        super().__init__(path.with_name(f".{path.name}.lock"), refused)

    def sweep(self) -> None:
        """Remove what killed commands have left beside the site, and note it."""
        if remove_leftovers(self._site):
            self.notes.append(SWEPT)


class _BusyError(ArtefactError):
    """Another process is changing the site."""


def changing(path: Path, sweep: bool = True) -> SiteChange:
    """A lock for a change of the site at `path`, to be used as a context.

    Without it a command that began earlier could bring back samples that another one has just removed.

    Parameters
    ----------
    path : Path
    sweep : bool
        Whether to remove what killed commands have left beside the site.

    Raises
    ------
    ArtefactError
        Another process is changing the site, there is none, or the folder around it cannot be written.
    """
    path = resolved(path)
    # The folder can come back between the first two looks.
    if not (path.is_dir() or is_interrupted(path) or path.is_dir()):
        raise _missing(path)
    change = SiteChange(path)
    try:
        recover_folder(path)
        if not path.is_dir():
            raise _missing(path)
        if sweep:
            change.sweep()
    except BaseException:
        change.release()
        raise
    return change


def recover_site(path: Path) -> None:
    """Bring back the former folder where a writer died between the two renames; wait for one that lives.

    Raises
    ------
    ArtefactError
        A writer does not go on, or the folder cannot be brought back.
    """
    path = resolved(path)
    until = time.monotonic() + PATIENCE
    while is_interrupted(path):
        try:
            with SiteChange(path):
                recover_folder(path)
        except _BusyError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


def _missing(path: Path) -> ArtefactError:
    return ArtefactError(f"There is no site at {path}: make one with pfedgp onboard.")
