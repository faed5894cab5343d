"""A site's private key: whether it can be read, is of the kind that Flower takes, and is kept private."""

import stat
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_ssh_private_key

from pfedgp.doctor.problem import Check, Problem, ProblemError

__all__ = ["check_key", "read_key"]

REMEDY = "Give the private key that `pfedgp certs` made for this site: the file clients/NAME, without .pub."


def read_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """Read a private key in OpenSSH's format.

    Raises
    ------
    ProblemError
        There is none at the path that Flower would take.
    """
    try:
        content = path.expanduser().read_bytes()
    except FileNotFoundError:
        raise ProblemError("key-missing", f"The key {path} does not exist.", REMEDY) from None
    except OSError as error:
        raise ProblemError(
            "key-unreadable",
            f"The key {path} cannot be read ({error.strerror}).",
            f"Run the client as the owner of the file, or give it to this user: chown $USER {path}.",
        ) from None
    if content.lstrip().startswith((b"ssh-", b"ecdsa-")):
        raise ProblemError("key-type", f"{path} is a public key.", REMEDY)
    try:
        key = load_ssh_private_key(content, None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        locked = "passphrase" in str(error).lower() or "password" in str(error).lower()
        what = "is locked with a passphrase" if locked else "is not a private key in OpenSSH's format"
        raise ProblemError("key-type", f"The key {path} {what}, which Flower does not take.", REMEDY) from None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        kind = type(key).__name__.lstrip("_").removesuffix("PrivateKey").removesuffix("Private")
        raise ProblemError(
            "key-type", f"The key {path} is of the kind {kind}, but Flower takes only NIST elliptic curves.", REMEDY
        )
    return key


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
