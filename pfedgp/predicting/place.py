"""The folder of a site, which is easily taken for the one around it."""

from pathlib import Path

from pfedgp_core.errors import ArtefactError
from pfedgp_core.files.state import kept

__all__ = ["require_site"]


def require_site(path: Path) -> None:
    """Say where the site is, if the path is the state folder of ``pfedgp client``."""
    below = path / "site"
    with kept(path):
        meant = not (path / "site.json").is_file() and (below.expanduser() / "site.json").is_file()
    if meant:
        raise ArtefactError(f"{path} is the state folder of a client, and no site: did you mean {below}?")
