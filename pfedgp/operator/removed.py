"""Sites that were taken out: their private keys are gone, their public ones say which nodes the server must forget.

``clients/removed/NAME-NUMBER.pub``
    The public key that a site of this name had. Flower never takes a key again that it has unregistered once.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from pfedgp_core.errors import ConfigError
from pfedgp_core.files.whole import explained
from pfedgp_core.words import few

__all__ = ["remove_sites", "removed_keys"]

FOLDER = "removed"


def remove_sites(clients: Path, names: Sequence[str]) -> None:
    """Take sites out.

    Parameters
    ----------
    clients : Path
        The folder ``clients`` of ``pfedgp certs``.
    names : sequence of str

    Raises
    ------
    ConfigError
        A name has no key here; nothing is changed then.
    ArtefactError
        The folder cannot be written.
    """
    known = sorted(path.stem for path in clients.glob("*.pub"))
    for name in names:
        if name not in known:
            there = f"there are {few(known)}" if known else "there are none"
            raise ConfigError(f"{clients} has no key of the site {name!r} to remove: {there}.")
    with explained(clients):
        (clients / FOLDER).mkdir(mode=0o700, exist_ok=True)
        for name in dict.fromkeys(names):
            (clients / f"{name}.pub").rename(_free(clients / FOLDER, name))
            (clients / name).unlink(missing_ok=True)


def removed_keys(clients: Path) -> Iterable[Path]:
    """The public keys of sites that were taken out, in the order of their names."""
    return sorted((clients / FOLDER).glob("*.pub"))


def _free(folder: Path, name: str) -> Path:
    number = 1
    while (folder / f"{name}-{number}.pub").exists():
        number += 1
    return folder / f"{name}-{number}.pub"
