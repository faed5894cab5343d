"""Certificates and keys as people carry them, made plain PEM: byte order marks, other line ends, DER, 16-bit text.

An editor or a mail program on the way may save a file in another form. The libraries underneath read none of these, and
some of them then blame the connection.
"""

import codecs
import os
from collections.abc import Callable
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_der_private_key

from pfedgp_core.errors import UnreadableFileError
from pfedgp_core.files.regular import read_regular
from pfedgp_core.files.whole import explained

__all__ = ["certificate_pem", "plain_certificate", "plain_copy", "plain_key", "plain_text"]

LARGEST = 1024 * 1024  # bytes
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_DER = b"\x30"  # the first byte of a certificate or key in DER


def certificate_pem(path: Path) -> bytes:
    """Read a certificate, or a bundle of them, as PEM; what the file holds is not looked at.

    Raises
    ------
    UnreadableFileError
        The file cannot be read.
    """
    return plain_certificate(read_regular(path, LARGEST))


def plain_certificate(content: bytes) -> bytes:
    """The same certificates as PEM in ASCII; what holds none is returned as it is."""
    if content.startswith(_DER):
        try:
            return x509.load_der_x509_certificate(content).public_bytes(Encoding.PEM)
        except ValueError:
            return content
    return plain_text(content)


def plain_key(content: bytes) -> bytes:
    """The same private key as PEM in ASCII; what holds none is returned as it is."""
    if content.startswith(_DER):
        try:
            key = load_der_private_key(content, None)
            return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        except (ValueError, TypeError, UnsupportedAlgorithm):
            return content
    return plain_text(content)


def plain_text(content: bytes) -> bytes:
    """The same PEM, or line of a public key, in ASCII; what is neither is returned as it is."""
    for mark, encoding in _MARKS.items():
        if content.startswith(mark):
            try:
                content = content.decode(encoding).encode("ascii", "replace")
            except UnicodeDecodeError:
                return content
            break
    if b"-----BEGIN" not in content:
        return content
    lines = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    # Whatever stands before and after the blocks, such as a comment in another alphabet, is no part of them.
    inside, kept = False, list[bytes]()
    for line in map(bytes.strip, lines):
        inside = inside or line.startswith(b"-----BEGIN")
        if inside and line:
            kept.append(line)
        inside = inside and not line.startswith(b"-----END")
    return b"\n".join(kept) + b"\n"


def plain_copy(path: Path, folder: Path, plain: Callable[[bytes], bytes]) -> Path:
    """Return the path of a file in plain form: itself where it is, or a copy in `folder` for its owner's eyes only.

    One that cannot be read is left to its reader, who names it.

    Parameters
    ----------
    path : Path
    folder : Path
        Exists.
    plain : callable
        `plain_certificate`, `plain_key` or `plain_text`.

    Raises
    ------
    ArtefactError
        The copy cannot be written.
    """
    try:
        content = read_regular(path, LARGEST)
    except UnreadableFileError:
        return path
    made = plain(content)
    if made == content:
        return path
    copy = folder / f"plain-{path.name}"
    partial = copy.with_name(f".{copy.name}.partial")
    with explained(copy):
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(made)
        os.replace(partial, copy)
    return copy
