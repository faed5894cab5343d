"""The token of ``pfedgp serve`` and ``pfedgp dashboard``: a file of its owner alone, made where there is none."""

import os
import re
import secrets
import stat
from pathlib import Path

from pfedgp_core.errors import ArtefactError, ConfigError, MissingFileError, UnreadableFileError
from pfedgp_core.files.private import OTHERS
from pfedgp_core.files.regular import read_text
from pfedgp_core.files.whole import explained

__all__ = ["read_token"]

LONGEST = 4096  # bytes of the file
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{16,}")  # what RFC 6750 lets a bearer token be, and no guess


def read_token(path: Path) -> str:
    """The token in a file; a new one, of 256 bits, where there is no file.

    Raises
    ------
    ArtefactError
        The file cannot be made, or other users of this machine may read it.
    ConfigError
        It holds no token.
    """
    try:
        token = read_text(path, LONGEST).strip()
    except MissingFileError:
        return _new_token(path)
    except UnreadableFileError as error:
        raise ConfigError(
            f"The token {path} cannot be read ({error.reason}): check its rights, or remove it to have a new one made."
        ) from error
    if (mode := stat.S_IMODE(path.stat().st_mode)) & OTHERS:
        raise ArtefactError(
            f"Other users of this machine may read the token {path} (mode {mode:04o}): remove it to have a new "
            "one made."
        )
    if not _TOKEN.fullmatch(token):
        raise ConfigError(
            f"{path} holds no token: write at least 16 letters and digits, or remove it to have a new one made."
        )
    return token


def _new_token(path: Path) -> str:
    token = secrets.token_urlsafe(32)
    with explained(path):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(token + "\n")
    return token
