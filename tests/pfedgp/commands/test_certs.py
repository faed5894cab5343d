"""``pfedgp certs``: what the files are, who may read them, what TLS accepts, and that nothing is ever overwritten."""

import socket
import ssl
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from pfedgp.cli import main
from pfedgp.operator.authority import issue, read_certificate
from pfedgp_core.errors import ConfigError

NAMES = ("fl.example.org", "192.0.2.10", "2001:db8::7")


def certs(folder: Path, *options: str) -> int:
    keys = ["--make-keys"] if {"--clients", "--client-names"} & set(options) else []
    return main(["certs", "--out", str(folder), *options, *keys])


def with_names(folder: Path, *options: str) -> int:
    return certs(folder, *(part for name in NAMES for part in ("--san", name)), *options)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@contextmanager
def tls_server(folder: Path) -> Iterator[int]:
    """A TLS server with the folder's certificate, for any number of connections."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.crt", folder / "server.key")
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                try:
                    with context.wrap_socket(connection, server_side=True):
                        pass
                except OSError:
                    connection.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def accepted(port: int, ca: Path, name: str) -> bool:
    context = ssl.create_default_context(cafile=str(ca))
    with socket.create_connection(("127.0.0.1", port), timeout=5) as plain:
        try:
            with context.wrap_socket(plain, server_hostname=name):
                return True
        except ssl.SSLCertVerificationError:
            return False


def test_files_have_the_rights_and_the_forms_that_flower_needs(tmp_path: Path) -> None:
    folder = tmp_path / "certs"

    assert with_names(folder, "--clients", "2") == 0

    modes = {name: stat.S_IMODE((folder / name).stat().st_mode) for name in contents(folder)}
    public = {"ca.crt", "server.crt", "clients/client-1.pub", "clients/client-2.pub"}
    secret = {"ca.key", "server.key", "clients/client-1", "clients/client-2"}
    assert modes == dict.fromkeys(public, 0o644) | dict.fromkeys(secret, 0o600)
    assert [stat.S_IMODE(f.stat().st_mode) for f in (folder, folder / "clients")] == [0o700, 0o700]
    private = serialization.load_ssh_private_key((folder / "clients/client-1").read_bytes(), password=None)
    key = serialization.load_ssh_public_key((folder / "clients/client-1.pub").read_bytes())
    assert isinstance(private, ec.EllipticCurvePrivateKey)
    assert private.curve.name == "secp384r1"
    assert private.public_key() == key


def test_tls_accepts_every_name_and_no_other(tmp_path: Path) -> None:
    assert with_names(tmp_path / "certs") == 0

    with tls_server(tmp_path / "certs") as port:
        ca = tmp_path / "certs/ca.crt"
        assert all(accepted(port, ca, name) for name in (*NAMES, "localhost", "127.0.0.1", "::1"))
        assert not accepted(port, ca, "other.example.org")
        assert not accepted(port, ca, "192.0.2.11")


def test_an_authority_of_another_deployment_is_not_accepted(tmp_path: Path) -> None:
    assert with_names(tmp_path / "a") == 0
    assert with_names(tmp_path / "b") == 0

    with tls_server(tmp_path / "a") as port:
        assert not accepted(port, tmp_path / "b/ca.crt", "localhost")


def test_the_same_call_again_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "certs"
    with_names(folder, "--clients", "2")
    before = contents(folder)
    capsys.readouterr()

    assert with_names(folder, "--clients", "2") == 0

    assert contents(folder) == before
    assert "Nothing to do" in capsys.readouterr().out


def test_more_clients_are_added_and_the_others_kept(tmp_path: Path) -> None:
    folder = tmp_path / "certs"
    with_names(folder, "--clients", "1")
    before = contents(folder)

    assert certs(folder, "--client-names", "client-1", "ward-3") == 0

    after = contents(folder)
    assert set(after) - set(before) == {"clients/ward-3", "clients/ward-3.pub"}
    assert before.items() <= after.items()


def test_a_private_key_that_went_to_its_site_is_not_made_anew(tmp_path: Path) -> None:
    folder = tmp_path / "certs"
    with_names(folder, "--clients", "1")
    (folder / "clients/client-1").unlink()

    assert with_names(folder, "--clients", "1") == 0

    assert not (folder / "clients/client-1").exists()


def test_a_renewed_server_certificate_suits_sites_that_have_the_authority(tmp_path: Path) -> None:
    folder = tmp_path / "certs"
    with_names(folder, "--days", "5")
    old, authority = (folder / "server.crt").read_bytes(), (folder / "ca.crt").read_bytes()

    assert certs(folder, "--renew-server", "--days", "400") == 0

    assert (folder / "ca.crt").read_bytes() == authority
    kept = list(folder.glob("server.crt.*.old"))
    assert [path.read_bytes() for path in kept] == [old]
    assert len(list(folder.glob("server.key.*.old"))) == 1
    left = read_certificate(folder / "server.crt").not_valid_after_utc - datetime.now(UTC)
    assert timedelta(days=399) < left <= timedelta(days=400)
    with tls_server(folder) as port:
        assert all(accepted(port, folder / "ca.crt", name) for name in NAMES)


def test_the_output_states_names_expiry_and_what_goes_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with_names(tmp_path / "certs", "--clients", "1", "--days", "100")

    out = capsys.readouterr().out
    assert f"valid until {datetime.now(UTC) + timedelta(days=100):%Y-%m-%d}" in out
    assert "fl.example.org, 192.0.2.10, 2001:db8::7, localhost, 127.0.0.1, ::1" in out
    assert "Carry to each site: ca.crt and its own clients/NAME. To nobody: ca.key, server.key." in out


def test_the_authority_can_only_sign_and_the_certificate_only_serve(tmp_path: Path) -> None:
    with_names(tmp_path / "certs")

    ca, server = (read_certificate(tmp_path / "certs" / name) for name in ("ca.crt", "server.crt"))
    assert ca.extensions.get_extension_for_class(x509.BasicConstraints).value == x509.BasicConstraints(True, 0)
    assert not server.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    usage = server.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--san", "https://fl.example.org"], "no host name and no IP address"),
        (["--san", "192.0.2.300"], "no host name and no IP address"),
        (["--san", "fl.example.org:9092"], "without port"),
        (["--san", "a", "--client-names", "../../etc/x"], "cannot be a file name"),
        (["--san", "a", "--client-names", "x", "x"], "twice"),
        (["--san", "a", "--client-names", "ward-1", "ward-l"], "ward-1 and ward-l look alike"),
        (["--san", "a", "--clients", "0"], "whole number"),
        (["--san", "a", "--days", "never"], "whole number"),
        ([], "needs the names of the server"),
    ],
)
def test_mistakes_are_one_sentence_and_leave_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    assert certs(tmp_path / "certs", *options) == 2

    assert words in capsys.readouterr().err
    assert not (tmp_path / "certs").exists()


def test_a_new_name_for_an_old_certificate_needs_an_explicit_renewal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "certs"
    with_names(folder)
    before = contents(folder)

    assert certs(folder, "--san", "other.example.org") == 2

    assert "--renew-server" in capsys.readouterr().err
    assert contents(folder) == before


@pytest.mark.parametrize("lost", ["ca.crt", "server.key", "server.crt"])
def test_a_lost_half_is_named_and_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str], lost: str) -> None:
    folder = tmp_path / "certs"
    with_names(folder)
    (folder / lost).unlink()
    before = contents(folder)

    assert with_names(folder, "--clients", "1") == 2

    assert f"{lost} is missing" in capsys.readouterr().err
    assert contents(folder) == before


def test_a_foreign_authority_key_is_refused_before_anything_is_moved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_names(tmp_path / "a")
    with_names(tmp_path / "b")
    (tmp_path / "a/ca.key").write_bytes((tmp_path / "b/ca.key").read_bytes())
    before = contents(tmp_path / "a")

    assert certs(tmp_path / "a", "--renew-server") == 2

    assert "do not belong together" in capsys.readouterr().err
    assert contents(tmp_path / "a") == before


def test_a_key_of_the_authority_that_is_kept_elsewhere_is_needed_for_certificates_only(tmp_path: Path) -> None:
    issue(tmp_path, ["fl.example.org"], ["a"])
    (tmp_path / "ca.key").rename(tmp_path / "elsewhere")
    assert issue(tmp_path, [], ["b"]).lines == ["clients/b: key pair, does not expire"]
    with pytest.raises(ConfigError, match=r"ca\.key is missing"):
        issue(tmp_path, [], [], renew_server=True)
