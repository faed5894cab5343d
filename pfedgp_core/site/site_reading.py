"""The content of a saved site, all of one state, also while another process replaces its folder."""

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

from pfedgp_core.errors import PFedGPError
from pfedgp_core.site.history import Event
from pfedgp_core.site.ledger import read_ledger
from pfedgp_core.site.origins import Origin
from pfedgp_core.site.site_files import DESCRIPTION, TENSORS, damaged, read_description, read_part
from pfedgp_core.site.site_lock import recover_site

__all__ = ["SiteContent", "read_site"]

TRIES = 20


class SiteContent(NamedTuple):
    """What the files of a site hold: the description, the bytes of the tensors, origins and history."""

    description: dict[str, Any]
    tensors: bytes
    origins: tuple[Origin, ...]
    history: tuple[Event, ...]


def read_site(path: Path) -> SiteContent:
    """Read all files of the site at a path; once more where its folder was replaced meanwhile.

    Raises
    ------
    ArtefactError
        There is no site, or a file of it is damaged or missing.
    """
    for _ in range(TRIES):
        recover_site(path)
        before = _mark(path)
        try:
            content = _read(path)
        except PFedGPError:
            if _mark(path) == before:
                raise
        else:
            if _mark(path) == before:
                return content
    return _read(path)


def _read(path: Path) -> SiteContent:
    description = read_description(path, read_part(path, DESCRIPTION))
    content = read_part(path, TENSORS)
    if hashlib.sha256(content).hexdigest() != description.get("tensors_sha256"):
        raise damaged(path, f"{TENSORS} is not the file that {DESCRIPTION} was written with")
    return SiteContent(description, content, *read_ledger(path, str(description.get("data_sha256"))))


def _mark(path: Path) -> tuple[int, ...]:
    """What tells a folder from the one that replaces it; empty where there is none."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns
