"""The bundle: a model's file behind the signature of whoever answers for it (Ed25519).

=============  =====================================================================================================
bytes          content
=============  =====================================================================================================
16             ``pfedgp-bundle-1`` and a line feed
32             the public key
64             the signature of these 16 bytes and the SHA-256 of all that follows
rest           ``model.safetensors`` of a run, whose header holds the description
=============  =====================================================================================================

Nothing of the rest is looked at before the signature is known to be right.
"""

import hashlib
import os
from pathlib import Path
from typing import IO

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from pfedgp_core.errors import ArtefactError, MissingFileError, UnreadableFileError
from pfedgp_core.files.regular import open_regular
from pfedgp_core.words import size

__all__ = ["HEAD", "MAGIC", "fingerprint", "seal", "verified"]

MAGIC = b"pfedgp-bundle-1\n"
KEY, SIGNATURE = 32, 64  # bytes
HEAD = len(MAGIC) + KEY + SIGNATURE
LARGEST = 16 * 1024**3  # bytes
_PIECE = 2**20


def seal(content: bytes, key: Ed25519PrivateKey) -> bytes:
    """The bundle of a model's file, signed with a private key."""
    signature = key.sign(MAGIC + hashlib.sha256(content).digest())
    return MAGIC + key.public_key().public_bytes_raw() + signature + content


def verified(path: Path, key: Ed25519PublicKey, place: str) -> bytes:
    """The model's file out of a bundle that the owner of a key has signed, and that nobody has changed since.

    Parameters
    ----------
    path : Path
    key : Ed25519PublicKey
        Of the one whom this site trusts; never that of the bundle itself.
    place : str
        Where the bundle is, as people know it.

    Raises
    ------
    ArtefactError
        There is no bundle, it is signed with another key, or it was changed or cut.
    """
    try:
        with open_regular(path) as file:
            return _content(place, file, key)
    except MissingFileError as error:
        raise ArtefactError(f"There is no bundle at {place}: give a file that pfedgp bundle wrote.") from error
    except UnreadableFileError as error:
        raise ArtefactError(
            f"{place} cannot be read ({error.reason}): give a file that pfedgp bundle wrote."
        ) from error
    except OSError as error:
        raise ArtefactError(f"{place} cannot be read ({error.strerror or error}): get the bundle again.") from error


def fingerprint(key: bytes) -> str:
    """A name for a public key that people can compare."""
    return hashlib.sha256(key).hexdigest()[:16]


def _content(place: str, file: IO[bytes], key: Ed25519PublicKey) -> bytes:
    if os.fstat(file.fileno()).st_size > LARGEST:
        raise ArtefactError(f"{place} has more than {size(LARGEST)}, which no bundle has: get it again.")
    head = file.read(HEAD)
    if not head.startswith(MAGIC):
        raise ArtefactError(f"{place} is no bundle: give a file that pfedgp bundle wrote.")
    signer, signature = head[len(MAGIC) : len(MAGIC) + KEY], head[len(MAGIC) + KEY :]
    ours = key.public_bytes_raw()
    if signer != ours and len(signer) == KEY:
        raise ArtefactError(
            f"The bundle {place} is signed with the key {fingerprint(signer)}, and --key is {fingerprint(ours)}: ask "
            "the one who gave you the key which of them is right."
        )
    content, hashed = bytearray(), hashlib.sha256()
    while piece := file.read(_PIECE):
        content += piece
        hashed.update(piece)
    try:
        key.verify(signature, MAGIC + hashed.digest())
    except InvalidSignature as error:
        raise ArtefactError(f"The bundle {place} was changed or cut after it was signed: get it again.") from error
    return bytes(content)
