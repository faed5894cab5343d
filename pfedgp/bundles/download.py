"""A bundle from an address: it is kept in a file until its signature is known to be right."""

import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path

from pfedgp.bundles.signing import LARGEST
from pfedgp_core.errors import ArtefactError
from pfedgp_core.words import cut, size

__all__ = ["fetched", "is_address", "is_bundle"]

SECONDS = 60.0  # without a byte
_PIECE = 2**20


def is_address(text: str) -> bool:
    """Whether a text is the address of a file on a web server."""
    return text.lower().startswith(("http://", "https://"))


def is_bundle(text: str) -> bool:
    """Whether a text names a bundle and not the folder of a model, by its looks."""
    return is_address(text) or Path(text).expanduser().is_file()


@contextmanager
def fetched(address: str) -> Iterator[Path]:
    """The file at an address, for as long as the block runs.

    Parameters
    ----------
    address : str
        Of a web server. The signature makes the file trustworthy, so that any copy of it may be asked for.

    Raises
    ------
    ArtefactError
        It cannot be had, or is larger than any bundle.
    """
    with tempfile.TemporaryDirectory(prefix="pfedgp-bundle-") as folder:
        path = Path(folder) / "bundle"
        try:
            with urllib.request.urlopen(address, timeout=SECONDS) as answer, path.open("wb") as file:  # noqa: S310
                length = 0
                while piece := answer.read(_PIECE):
                    length += len(piece)
                    if length > LARGEST:
                        raise ArtefactError(f"{cut(address, 200)} has more than {size(LARGEST)}, as no bundle.")
                    file.write(piece)
        except (OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise ArtefactError(
                f"The bundle at {cut(address, 200)} cannot be had ({cut(reason, 100)}): check the address, or copy the "
                "file here."
            ) from error
        yield path
