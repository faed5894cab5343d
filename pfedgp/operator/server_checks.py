"""Checks before the server starts: its certificates, its addresses, its folder."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from pfedgp.operator.addresses import is_loopback, join
from pfedgp.operator.authority import read_certificate, subject_names
from pfedgp.operator.state import is_network_file_system
from pfedgp.processes.called_as import control_is_internal
from pfedgp_core.errors import ConfigError, UnreadableFileError
from pfedgp_core.files.keys import kind_of_key, read_private_key

if TYPE_CHECKING:
    from pfedgp.operator.server import Server

__all__ = ["check_certificates", "check_control_name", "expiry", "warnings"]

WARN_DAYS = 30


def check_certificates(folder: Path) -> datetime:
    """Check that the server's certificate can be used, and return until when.

    Raises
    ------
    ConfigError
        A file is missing or damaged, does not fit the others, or the certificate is not valid today.
    """
    authority, certificate = read_certificate(folder / "ca.crt"), read_certificate(folder / "server.crt")
    try:
        key = read_private_key(folder / "server.key")
    except UnreadableFileError as error:
        raise ConfigError(
            f"{folder / 'server.key'} is no unencrypted PEM key of this user ({error.reason}): restore it, or run as "
            "its owner."
        ) from error
    if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise ConfigError(
            f"{folder / 'server.key'} is of the kind {kind_of_key(key)}, which the server cannot use for TLS: make an "
            "EC key with pfedgp certs."
        )
    if key.public_key() != certificate.public_key():
        raise ConfigError(f"server.key and server.crt in {folder} do not belong together: restore the right pair.")
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm) as error:
        raise ConfigError(f"server.crt in {folder} is not signed by ca.crt there: restore the right pair.") from error
    now = datetime.now(UTC)
    for name, dated in (("ca.crt", authority), ("server.crt", certificate)):
        if not dated.not_valid_before_utc <= now <= dated.not_valid_after_utc:
            remedy = "make new ones" if name == "ca.crt" else "renew it with pfedgp certs --renew-server"
            raise ConfigError(
                f"{name} in {folder} is valid from {dated.not_valid_before_utc:%Y-%m-%d %H:%M} to "
                f"{dated.not_valid_after_utc:%Y-%m-%d %H:%M} UTC, not now: {remedy}, or set this machine's clock."
            )
    return min(authority.not_valid_after_utc, certificate.not_valid_after_utc)


def check_control_name(certs: Path, host: str) -> None:
    """Check that the certificate suits the host under which this machine's own programs reach the server.

    Raises
    ------
    ConfigError
        It does not.
    """
    names = subject_names(read_certificate(certs / "server.crt"))
    if host not in names:
        raise ConfigError(
            f"The server certificate is not for {host}, the host of --control-address (it is for {', '.join(names)}): "
            "use one of these, or pfedgp certs --renew-server --san with all names."
        )


def warnings(server: "Server", until: datetime) -> Iterator[str]:
    """Yield what the operator should know when the server starts; `until` is the end of the certificates."""
    yield from expiry(until)
    if not is_loopback(server.control[0]) and not control_is_internal(join(*server.control)):
        yield (
            f"the Control API listens on {join(*server.control)} and has no authentication: whoever reaches it can run "
            "code on this server; keep it on an internal network."
        )
    if not server.database:
        yield "without a database, runs and registrations are lost when the SuperLink restarts."
    elif kind := is_network_file_system(server.state.path):
        yield f"{server.state.path} lies on {kind}, where databases lose their locks: use a folder on a local disk."


def expiry(until: datetime) -> Iterator[str]:
    """Yield a warning where the certificates end soon."""
    days = (until - datetime.now(UTC)).days
    if days < WARN_DAYS:
        yield (
            f"the certificates end in {days} days, on {until:%Y-%m-%d}: pfedgp certs --renew-server, then restart this "
            "server."
        )
