"""One change of a saved site at a time: a file beside its folder, locked while the folder is read and replaced."""

from pathlib import Path

from pfedgp_core.errors import ArtefactError, PFedGPError
from pfedgp_core.files.folder import recover_folder
from pfedgp_core.files.lock import FileLock
from pfedgp_core.files.whole import resolved

__all__ = ["changing"]


def changing(path: Path) -> FileLock:
    """A lock for a change of the site at `path`, to be used as a context.

    Without it a command that began earlier could bring back samples that another one has just removed.

    Raises
    ------
    ArtefactError
        Another process is changing the site, there is none, or the folder around it cannot be written.
    """
    path = resolved(path)
    recover_folder(path)
    if not path.is_dir():
        raise ArtefactError(f"There is no site at {path}: make one with pfedgp onboard.")

    def refused(other: str) -> PFedGPError:
        who = other[0].upper() + other[1:]
        return ArtefactError(f"{who} is changing the site at {path}: try again when it is done.")

    return FileLock(path.with_name(f".{path.name}.lock"), refused)
