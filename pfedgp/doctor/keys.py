"""A site's private key: whether it can be read, is of the kind that Flower takes, and is kept private."""

import stat
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec

from pfedgp.doctor.problem import Check, Problem, ProblemError
from pfedgp_core.errors import MissingFileError, UnreadableFileError
from pfedgp_core.files.keys import read_site_key

__all__ = ["check_key", "read_key"]

REMEDY = "Give the private key that `pfedgp key` made for this site: the file NAME, without .pub."


def read_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """Read a private key in OpenSSH's format.

    Raises
    ------
    ProblemError
        There is none at the path that Flower would take.
    """
    try:
        return read_site_key(path.expanduser())
    except MissingFileError:
        raise ProblemError("key-missing", f"The key {path} does not exist.", REMEDY) from None
    except UnreadableFileError as error:
        if error.__cause__ is None or isinstance(error.__cause__, OSError):
            raise ProblemError(
                "key-unreadable",
                f"The key {path} cannot be read ({error.reason}).",
                f"Run the client as the owner of the file, or give it to this user: chown $USER {path}.",
            ) from None
        raise ProblemError("key-type", f"The key {path} is none that Flower takes ({error.reason}).", REMEDY) from None


def check_key(path: Path) -> Check:
    """Check that a private key is readable for its owner alone.

    Raises
    ------
    ProblemError
        It cannot be used.
    """
    key = read_key(path)
    mode = stat.S_IMODE(path.expanduser().stat().st_mode)
    fact = f"{path}, {key.curve.name}"
    if not mode & 0o077:
        return Check("key", fact, None)
    problem = Problem(
        "key-mode",
        f"The key {path} can be read by other users of this machine (mode {mode:04o}).",
        f"Keep it to yourself: chmod 600 {path}.",
        lasting=False,
        warning=True,
    )
    return Check("key", fact, problem)
