"""Set-ups for the doctor's tests: certificates of every kind, and small servers that behave in one wrong way."""

import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from pfedgp.doctor.problem import Problem
from pfedgp.doctor.site import diagnose
from pfedgp.operator.authority import issue

Handler = Callable[[socket.socket], None]


class Authority:
    """A certificate authority that issues server certificates with any names and dates."""

    def __init__(self, folder: Path, begin: int = -10, end: int = 3650) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.path = folder, folder / "ca.crt"
        self._key = ec.generate_private_key(ec.SECP384R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a CA")])
        self.path.write_bytes(self._issue(self._name, self._key, begin, end, x509.BasicConstraints(True, None)))

    def server(self, *names: str, begin: int = -1, end: int = 100) -> ssl.SSLContext:
        """A server's TLS settings; `begin` and `end` of the certificate are in days from now."""
        key = ec.generate_private_key(ec.SECP384R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a server")])
        alternative = x509.SubjectAlternativeName([_general(name) for name in names])
        certificate, private = self.folder / "server.crt", self.folder / "server.key"
        certificate.write_bytes(self._issue(subject, key, begin, end, alternative))
        private.write_bytes(_private(key, serialization.PrivateFormat.PKCS8))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, private)
        context.set_alpn_protocols(["h2"])
        return context

    def _issue(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, begin: int, end: int, extension: x509.ExtensionType
    ) -> bytes:
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + timedelta(days=begin))
            .not_valid_after(now + timedelta(days=end, hours=1))
            .add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
            .sign(self._key, hashes.SHA256())
        )
        return certificate.public_bytes(serialization.Encoding.PEM)


def write_key(path: Path, key: ec.EllipticCurvePrivateKey | None = None, mode: int = 0o600) -> Path:
    """Write a site's private key as OpenSSH does."""
    path.write_bytes(_private(key or ec.generate_private_key(ec.SECP384R1()), serialization.PrivateFormat.OpenSSH))
    path.chmod(mode)
    return path


def strangers_key(folder: Path) -> Path:
    """The private key of a site that no server knows."""
    issue(folder, ["localhost"], ["stranger"])
    return folder / "clients" / "stranger"


@contextmanager
def listening(handle: Handler) -> Iterator[str]:
    """A server on the loopback interface that treats every connection with `handle`; yields its address."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    threading.Thread(target=treat, args=(connection,), daemon=True).start()

        def treat(connection: socket.socket) -> None:
            with suppress(OSError), connection:
                handle(connection)

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)


def over_tls(context: ssl.SSLContext) -> Handler:
    """Shake hands and wait for the peer to leave."""

    def handle(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secured:
            secured.recv(1024)

    return handle


def says(answer: bytes) -> Handler:
    """Answer whatever comes with the same bytes."""

    def handle(connection: socket.socket) -> None:
        connection.recv(1024)
        connection.sendall(answer)
        connection.recv(1024)

    return handle


def silent(connection: socket.socket) -> None:
    """Read for ever, say nothing."""
    while connection.recv(1024):
        pass


def _private(key: ec.EllipticCurvePrivateKey, form: serialization.PrivateFormat) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def only(superlink: str, ca: Path | None, key: Path | None, timeout: float = 15.0, refused: bool = False) -> Problem:
    """The one problem of a set-up."""
    found = diagnose(superlink, ca, key, timeout=timeout, refused=refused)
    assert len(found) == 1, found
    assert found[0].sentence.endswith(".")
    assert found[0].remedy.endswith(".")
    return found[0]
