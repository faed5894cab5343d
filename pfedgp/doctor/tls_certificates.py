"""The content of a certificate: dates, subject and issuer."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

from pfedgp.doctor.problem import Problem, ProblemError
from pfedgp_core.errors import UnreadableFileError
from pfedgp_core.files import keys

__all__ = ["EXPIRES_SOON", "belongs_to", "day", "expiry_warning", "read_certificate", "signed_by"]

EXPIRES_SOON = timedelta(days=30)


def read_certificate(path: Path, what: str) -> x509.Certificate:
    """Read the first certificate of a file, PEM or DER.

    Raises
    ------
    ProblemError
        There is none; `what` names the file in the sentence.
    """
    try:
        return keys.read_certificate(path)
    except UnreadableFileError as error:
        raise ProblemError(
            "ca-file",
            f"{what} {path} cannot be read ({error.reason}).",
            "Give the file ca.crt that `pfedgp certs` wrote, readable for this user: it begins with BEGIN CERTIFICATE.",
        ) from None


def signed_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    """Whether a certificate was issued by the holder of another one."""
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def belongs_to(certificate: x509.Certificate, private_key: Any) -> bool:
    """Whether a certificate was made for a private key."""
    return bool(certificate.public_key() == private_key.public_key())


def day(moment: datetime) -> str:
    """A moment for a person: the day, in UTC."""
    return moment.strftime("%Y-%m-%d")


def expiry_warning(certificate: x509.Certificate, whose: str, remedy: str) -> Problem | None:
    """Warn of a certificate that will expire within the next 30 days."""
    left = certificate.not_valid_after_utc - datetime.now(UTC)
    if not timedelta(0) < left < EXPIRES_SOON:
        return None
    sentence = f"{whose} expires in {left.days} days, on {day(certificate.not_valid_after_utc)}."
    return Problem("expires-soon", sentence, remedy, lasting=False, warning=True)
