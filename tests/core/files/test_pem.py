"""Certificates and keys are read in the forms in which editors and mail programs leave them."""

import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from pfedgp.doctor.keys import read_key
from pfedgp.operator import authority
from pfedgp.operator.authority import read_certificate
from pfedgp.operator.server_checks import check_certificates
from pfedgp.operator.sites import read_public_key
from pfedgp_core.errors import ConfigError
from pfedgp_core.files.pem import plain_certificate, plain_copy, plain_key

FORMS: dict[str, Callable[[bytes], bytes]] = {
    "byte order mark": lambda pem: b"\xef\xbb\xbf" + pem,
    "CRLF": lambda pem: pem.replace(b"\n", b"\r\n"),
    "CR": lambda pem: pem.replace(b"\n", b"\r"),
    "mark and CRLF": lambda pem: b"\xef\xbb\xbf" + pem.replace(b"\n", b"\r\n"),
    "16 bit": lambda pem: pem.decode().encode("utf-16"),
    "spaces": lambda pem: b"\n  " + pem.replace(b"\n", b"  \n") + b"\n",
    "comment": lambda pem: "Für Station 3\n".encode() + pem,
}
form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


@pytest.fixture(scope="module")
def certs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of ``pfedgp certs``."""
    folder = tmp_path_factory.mktemp("pem") / "certs"
    authority.issue(folder, ["localhost"], ["ward-3"])
    return folder


def as_der(path: Path) -> bytes:
    if path.suffix == ".crt":
        return x509.load_pem_x509_certificate(path.read_bytes()).public_bytes(serialization.Encoding.DER)
    key = serialization.load_pem_private_key(path.read_bytes(), None)
    return key.private_bytes(
        serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


@form
def test_a_certificate_becomes_the_pem_that_it_was(certs: Path, form: Callable[[bytes], bytes]) -> None:
    pem = (certs / "ca.crt").read_bytes()
    assert plain_certificate(form(pem)) == pem


@form
def test_a_sites_key_is_read(certs: Path, tmp_path: Path, form: Callable[[bytes], bytes]) -> None:
    original = certs / "clients" / "ward-3"
    (tmp_path / "key").write_bytes(form(original.read_bytes()))
    assert read_key(tmp_path / "key").private_numbers() == read_key(original).private_numbers()


def test_a_bundle_keeps_all_its_certificates(certs: Path) -> None:
    both = (certs / "ca.crt").read_bytes() + (certs / "server.crt").read_bytes()
    assert plain_certificate(b"\xef\xbb\xbf" + both) == both


def test_der_is_read(certs: Path) -> None:
    assert plain_certificate(as_der(certs / "ca.crt")) == (certs / "ca.crt").read_bytes()
    assert b"BEGIN PRIVATE KEY" in plain_key(as_der(certs / "server.key"))


@pytest.mark.parametrize("change", [as_der, lambda path: b"\xef\xbb\xbf" + path.read_bytes()], ids=["DER", "mark"])
def test_a_server_takes_its_files_in_either_form(certs: Path, tmp_path: Path, change: Callable[[Path], bytes]) -> None:
    for name in ("ca.crt", "server.crt", "server.key"):
        (tmp_path / name).write_bytes(change(certs / name))
    assert check_certificates(tmp_path) == check_certificates(certs)


def test_a_public_key_with_a_mark_is_registered(certs: Path, tmp_path: Path) -> None:
    original = certs / "clients" / "ward-3.pub"
    (tmp_path / "ward-3.pub").write_bytes(b"\xef\xbb\xbf" + original.read_bytes().replace(b"\n", b"\r\n"))
    assert read_public_key(tmp_path / "ward-3.pub") == read_public_key(original)


@pytest.mark.parametrize("content", [b"", b"0", b"\x30\x82", b"\xff\xfe\x00", b"-----BEGIN CERTIFICATE-----\n"])
def test_what_holds_no_certificate_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "ca.crt").write_bytes(content)
    with pytest.raises(ConfigError, match=r"Cannot read the certificate \S+ca\.crt \("):
        read_certificate(tmp_path / "ca.crt")


def test_a_plain_file_is_used_where_it_is(certs: Path, tmp_path: Path) -> None:
    assert plain_copy(certs / "ca.crt", tmp_path, plain_certificate) == certs / "ca.crt"
    assert list(tmp_path.iterdir()) == []


def test_a_copy_is_for_its_owners_eyes_only(certs: Path, tmp_path: Path) -> None:
    (tmp_path / "server.key").write_bytes(as_der(certs / "server.key"))
    copy = plain_copy(tmp_path / "server.key", tmp_path, plain_key)
    assert copy.read_bytes() == plain_key(as_der(certs / "server.key"))
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
