"""The key with which sites hash the names of their columns: a file that all of them have and the server does not."""

from pathlib import Path

from pfedgp_core.errors import ConfigError, UnreadableFileError
from pfedgp_core.files.regular import read_regular

__all__ = ["SHORTEST", "read_column_key"]

SHORTEST = 16  # bytes, so that nobody tries all keys
LONGEST = 4096


def read_column_key(path: Path) -> bytes:
    """The content of the file without spaces and line ends around it, which editors add.

    Raises
    ------
    ConfigError
        It cannot be read, or is shorter than a key.
    """
    try:
        key = read_regular(path.expanduser(), LONGEST).strip()
    except UnreadableFileError as error:
        raise ConfigError(
            f"The column key {path} cannot be read ({error.reason}): give the file that all sites share."
        ) from error
    if len(key) < SHORTEST:
        raise ConfigError(
            f"The column key {path} has fewer than {SHORTEST} bytes: make one with openssl rand -hex 32, and give all "
            "sites the same."
        )
    return key
