"""The checksum of a file, to be compared with the one that its publisher states."""

import hashlib
from functools import partial
from pathlib import Path

from pfedgp_core.files.regular import decoding, open_regular

__all__ = ["md5_of"]

_BLOCK = 1024 * 1024  # bytes


def md5_of(path: Path) -> str:
    """The MD5 of a file, in hex; against damage, not against forgery. Raises as `open_regular`."""
    digest = hashlib.md5(usedforsecurity=False)
    with open_regular(path) as file, decoding(path):
        for block in iter(partial(file.read, _BLOCK), b""):
            digest.update(block)
    return digest.hexdigest()
