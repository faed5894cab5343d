"""Key pairs of sites: made where the private part stays, and registered by the public part alone."""

import base64
import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from pfedgp.operator.removed import removed_keys
from pfedgp_core.errors import ConfigError, UnreadableFileError
from pfedgp_core.files import keys
from pfedgp_core.files.whole import explained
from pfedgp_core.names import first_alike

__all__ = ["PublicKey", "check_name", "fingerprint", "make_pair", "read_public_keys", "register", "write_new"]

PublicKey = tuple[str, ec.EllipticCurvePublicKey]
PUB = ".pub"
_CLIENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def check_name(name: str) -> None:
    """Raise ConfigError where a site's name cannot be that of its key's file."""
    if not _CLIENT.fullmatch(name) or name.endswith(PUB):
        raise ConfigError(f"The client name {name!r} cannot be a file name: use letters, digits, '.', '_' and '-'.")


def make_pair(folder: Path, name: str) -> str:
    """Write ``NAME`` and ``NAME.pub`` into a folder that is there, and return the fingerprint.

    Raises
    ------
    ArtefactError
        One of them is there already, or cannot be written.
    """
    key = ec.generate_private_key(ec.SECP384R1())  # the curve that Flower's node authentication takes
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    write_new(folder / name, private, 0o600)
    write_new(folder / f"{name}{PUB}", _line(key.public_key(), name), 0o644)
    return fingerprint(key.public_key())


def fingerprint(key: ec.EllipticCurvePublicKey) -> str:
    """The fingerprint of a public key as ``ssh-keygen -l`` shows it."""
    blob = base64.b64decode(_openssh(key).split()[1])
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def read_public_keys(files: Sequence[Path]) -> list[PublicKey]:
    """Read public keys that sites have sent; a file is called NAME.pub after its site.

    Raises
    ------
    ConfigError
        A file is none or has another kind of name, or two names or keys are alike.
    """
    found: list[PublicKey] = []
    for file in files:
        if file.suffix != PUB:
            raise ConfigError(f"--public-key {file} is not called NAME.pub: name it after its site.")
        check_name(file.stem)
        try:
            found.append((file.stem, keys.read_public_key(file.expanduser())))
        except UnreadableFileError as error:
            raise ConfigError(
                f"--public-key {file} is none that Flower takes ({error.reason}): let the site make it with pfedgp key."
            ) from error
    if pair := first_alike([name for name, _ in found]):
        raise ConfigError(f"--public-key {pair[0]}.pub and {pair[1]}.pub look alike: rename one site.")
    if len({name for name, _ in found}) < len(found) or len({fingerprint(key) for _, key in found}) < len(found):
        raise ConfigError("--public-key holds a site or a key twice: give each site its own.")
    return found


def register(folder: Path, given: Sequence[PublicKey]) -> list[str]:
    """Put public keys where a server finds them; the names of those that are new.

    Parameters
    ----------
    folder : Path
        ``clients`` of the server's certificates, which is there.
    given : sequence of PublicKey

    Raises
    ------
    ConfigError
        A site has another key, or a key is that of another site or was taken out: nothing is registered then.
    """
    known = {path.stem: _stored(path) for path in sorted(folder.glob(f"*{PUB}"))}
    gone = {_stored(path) for path in removed_keys(folder)}
    new: list[PublicKey] = []
    for name, key in given:
        mark = fingerprint(key)
        if known.get(name) == mark:
            continue
        if name in known:
            raise ConfigError(
                f"The site {name} is registered with another key ({known[name]}): take that out first with "
                f"pfedgp certs --remove {name}."
            )
        if mark in gone:
            raise ConfigError(
                f"The key of {name} was taken out once, and Flower never takes it again: let the site make another one "
                "with pfedgp key --rotate."
            )
        if owners := [other for other, found in known.items() if found == mark]:
            raise ConfigError(f"The key of {name} is that of {owners[0]} already: each site makes its own.")
        new.append((name, key))
    for name, key in new:
        write_new(folder / f"{name}{PUB}", _line(key, name), 0o644)
    return [name for name, _ in new]


def write_new(path: Path, data: bytes, mode: int) -> None:
    """Create a file with its rights from the first moment; one that exists is never touched, ArtefactError."""
    with explained(path):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, mode)  # whatever the umask
            file.write(data)
            file.flush()
            os.fsync(handle)


def _stored(path: Path) -> str:
    """The fingerprint of a key that is registered; empty where the file is damaged, which the server names."""
    try:
        return fingerprint(keys.read_public_key(path))
    except UnreadableFileError:
        return ""


def _line(key: ec.EllipticCurvePublicKey, name: str) -> bytes:
    return _openssh(key) + f" {name}\n".encode()


def _openssh(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
