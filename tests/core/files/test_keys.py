"""Keys and certificates: foreign kinds are named for what they are."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization as forms
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import pkcs12

from pfedgp_core.errors import UnreadableFileError
from pfedgp_core.files.keys import read_certificate, read_private_key, read_public_key, read_site_key
from scripts.fuzzing.seeds import locked_openssh

CURVE, EDWARDS = ec.generate_private_key(ec.SECP384R1()), ed25519.Ed25519PrivateKey.generate()
RSA = rsa.generate_private_key(65537, 2048)
PEM, DER, OPENSSH = forms.Encoding.PEM, forms.Encoding.DER, forms.PrivateFormat.OpenSSH
PKCS8, NONE, LOCKED = forms.PrivateFormat.PKCS8, forms.NoEncryption(), forms.BestAvailableEncryption(b"x")


def made() -> x509.Certificate:
    name, now = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "x")]), datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).serial_number(1)
    dated = builder.not_valid_before(now).not_valid_after(now + timedelta(days=1)).public_key(CURVE.public_key())
    return dated.sign(CURVE, hashes.SHA256())


CERTIFICATE = made().public_bytes(PEM)
BUNDLE = pkcs12.serialize_key_and_certificates(b"x", CURVE, made(), None, NONE)


def reason(reader: Any, path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(UnreadableFileError) as caught:
        reader(path)
    assert str(path) in str(caught.value)
    return caught.value.reason


def public(key: Any) -> bytes:
    return bytes(key.public_key().public_bytes(forms.Encoding.OpenSSH, forms.PublicFormat.OpenSSH))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (CURVE.private_bytes(PEM, PKCS8, NONE), "it is another kind of PEM file"),
        (locked_openssh(CURVE.public_key()), "it is locked with a passphrase"),
        (CURVE.private_bytes(PEM, PKCS8, LOCKED), "it is locked with a passphrase"),
        (CURVE.private_bytes(DER, PKCS8, NONE), "it is in DER or PKCS#12 form"),
        (EDWARDS.private_bytes(PEM, OPENSSH, NONE), "it is of the kind Ed25519"),
        (RSA.private_bytes(PEM, OPENSSH, NONE), "it is of the kind RSA"),
        (public(CURVE), "it is a public key"),
        (CERTIFICATE, "it is a certificate"),
        (BUNDLE, "it is in DER or PKCS#12 form"),
        (b"", "not a private key in OpenSSH's form"),
    ],
    ids=range(10),
)
def test_a_site_s_key_of_a_foreign_kind(content: bytes, words: str, tmp_path: Path) -> None:
    assert words in reason(read_site_key, tmp_path / "key", content)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (CURVE.private_bytes(PEM, OPENSSH, NONE), "in OpenSSH's form"),
        (CURVE.private_bytes(PEM, PKCS8, LOCKED), "locked with a passphrase"),
        (CURVE.private_bytes(PEM, forms.PrivateFormat.TraditionalOpenSSL, LOCKED), "locked with a passphrase"),
        (CURVE.private_bytes(DER, PKCS8, LOCKED), "DER or PKCS#12"),
        (public(CURVE), "it is a public key"),
        (CERTIFICATE, "it is a certificate"),
    ],
    ids=range(6),
)
def test_an_authority_s_key_of_a_foreign_kind(content: bytes, words: str, tmp_path: Path) -> None:
    assert words in reason(read_private_key, tmp_path / "ca.key", content)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (public(EDWARDS), "of the kind Ed25519"),
        (public(RSA), "of the kind RSA"),
        (CURVE.private_bytes(PEM, OPENSSH, NONE), "it is a private key, which belongs to the site alone"),
        (CERTIFICATE, "Unsupported key type"),
        (b"", ""),
    ],
    ids=range(5),
)
def test_a_public_key_of_a_foreign_kind(content: bytes, words: str, tmp_path: Path) -> None:
    assert words in reason(read_public_key, tmp_path / "ward.pub", content)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (made().public_bytes(DER)[:-9], "DER or PKCS#12"),
        (BUNDLE, "DER or PKCS#12"),
        (CURVE.private_bytes(PEM, PKCS8, NONE), "it is another kind of PEM file"),
        (CERTIFICATE[:200] + b"\n-----END CERTIFICATE-----\n", ""),
        (b"", "it holds no certificate"),
    ],
    ids=range(5),
)
def test_what_is_no_certificate(content: bytes, words: str, tmp_path: Path) -> None:
    assert words in reason(read_certificate, tmp_path / "ca.crt", content)


def test_the_right_kinds_are_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(CURVE.private_bytes(PEM, OPENSSH, NONE))
    assert read_site_key(tmp_path / "a").public_key() == CURVE.public_key()
    (tmp_path / "a").write_bytes(public(CURVE))
    assert read_public_key(tmp_path / "a") == CURVE.public_key()
    for form in (PKCS8, forms.PrivateFormat.TraditionalOpenSSL):
        (tmp_path / "a").write_bytes(CURVE.private_bytes(PEM, form, NONE))
        assert read_private_key(tmp_path / "a").public_key() == CURVE.public_key()
    (tmp_path / "a").write_bytes(CERTIFICATE)
    assert read_certificate(tmp_path / "a").public_bytes(PEM) == CERTIFICATE
