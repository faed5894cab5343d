"""Keys and certificates in files of others: PEM without a passphrase, or what the file is instead."""

from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from pfedgp_core.files.pem import plain_certificate, plain_key, plain_text
from pfedgp_core.files.regular import MalformedError, decoding, read_regular

__all__ = [
    "kind_of_key",
    "read_certificate",
    "read_private_key",
    "read_public_key",
    "read_signing_key",
    "read_site_key",
    "read_verifying_key",
]

LARGEST = 1024 * 1024  # bytes
_FOREIGN = (  # how a file begins, and what it is
    (b"-----BEGIN CERTIFICATE REQUEST", "it is a request for a certificate"),
    (b"-----BEGIN CERTIFICATE", "it is a certificate"),
    (b"-----BEGIN PUBLIC KEY", "it is a public key"),
    (b"---- BEGIN SSH2 PUBLIC KEY", "it is a public key"),
    (b"ssh-", "it is a public key"),
    (b"ecdsa-", "it is a public key"),
    (b"sk-", "it is a public key"),
    (b"-----BEGIN ENCRYPTED PRIVATE KEY", "it is a private key with a passphrase"),
    (b"-----BEGIN OPENSSH PRIVATE KEY", "it is a private key in OpenSSH's form"),
    (b"-----BEGIN", "it is another kind of PEM file"),
    (b"PuTTY-User-Key-File", "it is a key of PuTTY"),
    (b"\x30", "it is in DER or PKCS#12 form"),
)


def read_certificate(path: Path) -> x509.Certificate:
    """The first certificate of a file, PEM or DER.

    Raises
    ------
    MissingFileError
        There is no such file.
    UnreadableFileError
        It holds no certificate, or a damaged one; the reason says what it is instead.
    """
    with decoding(path):
        content = plain_certificate(read_regular(path, LARGEST))
        if b"-----BEGIN CERTIFICATE-----" not in content:
            other = _instead(content, "")
            raise MalformedError(f"it holds no certificate: {other}" if other else "it holds no certificate")
        certificate = x509.load_pem_x509_certificate(content)
        # These are parsed when they are asked for.
        _ = certificate.public_key(), list(certificate.extensions), certificate.subject, certificate.issuer
        _ = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        return certificate


def read_private_key(path: Path) -> Any:
    """The private key of a file, PEM or DER, of whatever kind. Raises as `read_certificate`."""
    with decoding(path):
        content = plain_key(read_regular(path, LARGEST))
        if b"PRIVATE KEY-----" not in content or b"ENCRYPTED" in content:
            raise MalformedError(_instead(content, "it holds no private key"))
        if content.lstrip().startswith(b"-----BEGIN OPENSSH"):
            raise MalformedError("it is a private key in OpenSSH's form")
        return serialization.load_pem_private_key(content, password=None)


def read_site_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """The private key of a site, in OpenSSH's form and on a NIST curve, as Flower takes it.

    Raises
    ------
    MissingFileError
        There is no such file.
    UnreadableFileError
        It is something else; the reason says what.
    """
    with decoding(path):
        content = plain_text(read_regular(path, LARGEST))
        if not content.lstrip().startswith(b"-----BEGIN OPENSSH PRIVATE KEY"):
            raise MalformedError(_instead(content, "it is not a private key in OpenSSH's form"))
        try:
            key = serialization.load_ssh_private_key(content, None)
        except (TypeError, ValueError) as error:
            if "passphrase" in str(error).lower() or "password" in str(error).lower():
                raise MalformedError("it is locked with a passphrase") from error
            raise
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise MalformedError(f"it is of the kind {kind_of_key(key)}, and not on a NIST curve")
        return key


def read_public_key(path: Path) -> ec.EllipticCurvePublicKey:
    """The public key of a site, in OpenSSH's form and on a NIST curve. Raises as `read_site_key`."""
    with decoding(path):
        content = plain_text(read_regular(path, LARGEST))
        if b"PRIVATE KEY" in content:
            raise MalformedError("it is a private key, which belongs to the site alone")
        key = serialization.load_ssh_public_key(content.lstrip())
        if not isinstance(key, ec.EllipticCurvePublicKey) or not key.curve.name.startswith("secp"):
            raise MalformedError(f"it is of the kind {kind_of_key(key)}, and not on a NIST curve")
        return key


def read_signing_key(path: Path) -> ed25519.Ed25519PrivateKey:
    """The private key that signs bundles: Ed25519 in PEM, without a passphrase. Raises as `read_site_key`."""
    key = read_private_key(path)
    with decoding(path):
        if not isinstance(key, ed25519.Ed25519PrivateKey):
            raise MalformedError(f"it is of the kind {kind_of_key(key)}, and not Ed25519")
        return key


def read_verifying_key(path: Path) -> ed25519.Ed25519PublicKey:
    """The public key of who signs bundles: Ed25519 in PEM. Raises as `read_site_key`."""
    with decoding(path):
        content = plain_text(read_regular(path, LARGEST))
        if b"PRIVATE KEY" in content:
            raise MalformedError("it is a private key, which belongs to the one who signs")
        if b"-----BEGIN PUBLIC KEY" not in content:
            raise MalformedError(_instead(content, "it holds no public key in PEM"))
        key = serialization.load_pem_public_key(content)
        if not isinstance(key, ed25519.Ed25519PublicKey):
            raise MalformedError(f"it is of the kind {kind_of_key(key)}, and not Ed25519")
        return key


def kind_of_key(key: object) -> str:
    """The name of a key's kind: RSA, Ed25519, EllipticCurve."""
    return type(key).__name__.lstrip("_").removesuffix("Key").removesuffix("Private").removesuffix("Public")


def _instead(content: bytes, otherwise: str) -> str:
    """What a file is, where it is not what it should be."""
    start = content.removeprefix(b"\xef\xbb\xbf").lstrip()
    if b"PRIVATE KEY" in content and b"ENCRYPTED" in content:
        return "it is locked with a passphrase"
    return next((what for mark, what in _FOREIGN if start.startswith(mark)), otherwise)
