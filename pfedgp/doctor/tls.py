"""A TLS handshake as gRPC makes it, and the reason of a failure: no TLS, another CA, the dates or the name."""

import ssl
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509

from pfedgp.doctor.problem import Check, Deadline, ProblemError
from pfedgp.doctor.reach import FLEET_PORT, Address, connect
from pfedgp.doctor.tls_certificates import day, expiry_warning, read_certificate
from pfedgp.operator.authority import ALWAYS, subject_names
from pfedgp_core.errors import UnreadableFileError
from pfedgp_core.files.pem import certificate_pem

__all__ = ["check_authority", "check_plaintext", "check_tls", "served_certificate"]

STEP_SECONDS = 5.0
NEW_CERTIFICATE = "On the server, run `pfedgp certs --renew-server --out CERTS` and restart `pfedgp server`."
NEW_CA = (
    "On the server, run `pfedgp certs` into a new folder, restart `pfedgp server` with it, send ca.crt to every site."
)
# OpenSSL's numbers: not valid yet, expired, not for this name, not for this address.
NOT_YET, EXPIRED, OTHER_NAME, OTHER_ADDRESS = 9, 10, 62, 64
# Frame header of HTTP/2's first frame: an empty SETTINGS frame, after the preface with which every client begins.
HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
SETTINGS_FRAME = bytes([4])


def check_authority(ca: Path) -> Check:
    """Read a CA certificate and see how long it lasts.

    Raises
    ------
    ProblemError
        There is none in the file.
    """
    certificate = read_certificate(ca, "The CA certificate")
    problem = expiry_warning(certificate, f"The CA certificate {ca}", NEW_CA)
    return Check("CA", f"{ca}, valid until {day(certificate.not_valid_after_utc)}", problem)


def check_tls(address: Address, ca: Path, deadline: Deadline) -> Check:
    """Shake hands and check the server's certificate against a readable CA certificate, the clock and the name.

    Raises
    ------
    ProblemError
        gRPC would refuse the connection, with the reason.
    """
    context = _context()
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # as gRPC does
    try:
        context.load_verify_locations(cadata=certificate_pem(ca).decode("ascii"))
    except (OSError, UnicodeDecodeError, UnreadableFileError) as error:  # SSLError is an OSError
        raise ProblemError(
            "ca-file", f"The CA certificate {ca} cannot be used ({error}).", "Take ca.crt from the server again."
        ) from None
    try:
        with connect(address, deadline) as raw, context.wrap_socket(raw, server_hostname=address.host) as connection:
            protocol, version = connection.selected_alpn_protocol(), connection.version()
            certificate = x509.load_der_x509_certificate(connection.getpeercert(binary_form=True) or b"")
    except ssl.SSLCertVerificationError as error:
        raise _refused(address, ca, error, deadline) from None
    except OSError as error:
        raise _no_handshake(address, error, deadline) from None
    if protocol != "h2":
        raise _not_fleet(address, "TLS but not gRPC")
    fact = f"{version}, issued by the CA of {ca.name}, names {address.host}, valid until "
    problem = expiry_warning(certificate, f"The certificate of {address}", NEW_CERTIFICATE)
    return Check("TLS", fact + day(certificate.not_valid_after_utc), problem)


def check_plaintext(address: Address, deadline: Deadline) -> Check:
    """See that a server speaks gRPC without TLS.

    Raises
    ------
    ProblemError
        It wants TLS, or does not speak gRPC.
    """
    if served_certificate(address, deadline) is not None:
        raise ProblemError(
            "tls-wanted",
            f"{address} speaks TLS, but this side tried to connect in plaintext.",
            "Leave out --insecure and give the server's CA certificate with --ca ca.crt.",
        )
    try:
        answer = _plaintext_answer(address, deadline)
    except TimeoutError:
        raise _silent(address, "an answer") from None
    except OSError:
        answer = b""
    if answer[3:4] != SETTINGS_FRAME:
        raise _not_fleet(address, "plaintext but not gRPC" if answer else "neither TLS nor gRPC")
    return Check("TLS", "none: the connection is in plaintext, which is for tests on one machine")


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["h2"])
    return context


def served_certificate(address: Address, deadline: Deadline) -> x509.Certificate | None:
    """Return the certificate of a server, valid or not; None if it does not speak TLS."""
    context = _context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with connect(address, deadline) as raw, context.wrap_socket(raw, server_hostname=address.host) as connection:
            return x509.load_der_x509_certificate(connection.getpeercert(binary_form=True) or b"")
    except (OSError, ValueError):
        return None


def _plaintext_answer(address: Address, deadline: Deadline) -> bytes:
    """The first bytes with which a server answers HTTP/2 without TLS."""
    with connect(address, deadline) as connection:
        connection.settimeout(deadline.left(2.0))
        connection.sendall(HTTP2)
        return connection.recv(64)


def _refused(address: Address, ca: Path, error: ssl.SSLCertVerificationError, deadline: Deadline) -> ProblemError:
    """Say why a certificate was not accepted."""
    certificate = served_certificate(address, deadline)
    code, today = error.verify_code, datetime.now(UTC)
    if code in (NOT_YET, EXPIRED):
        own = certificate is not None and not (
            certificate.not_valid_before_utc <= today <= certificate.not_valid_after_utc
        )
        shown = certificate if own and certificate is not None else read_certificate(ca, "The CA certificate")
        whose = f"The certificate of {address}" if own else f"The CA certificate {ca}"
        here = f"this machine's clock says {today:%Y-%m-%d %H:%M} UTC"
        if code == EXPIRED:
            sentence = f"{whose} expired on {day(shown.not_valid_after_utc)} ({here})."
            return ProblemError("expired", sentence, NEW_CERTIFICATE if own else NEW_CA)
        sentence = f"{whose} is not valid before {shown.not_valid_before_utc:%Y-%m-%d %H:%M} UTC ({here})."
        return ProblemError("not-yet-valid", sentence, "Correct the clock that is wrong: on both sides, turn on NTP.")
    if code in (OTHER_NAME, OTHER_ADDRESS):
        names = [] if certificate is None else subject_names(certificate)
        wanted = " ".join(name for name in (*names, address.host) if name not in ALWAYS)
        return ProblemError(
            "wrong-name",
            f"The certificate of {address} is not for {address.host} but for {', '.join(names) or 'no name at all'}.",
            f"Connect with one of these names, or, on the server, run `pfedgp certs --renew-server --san {wanted} "
            "--out CERTS` and restart `pfedgp server`.",
        )
    return ProblemError(
        "wrong-ca",
        f"The certificate of {address} was not issued by the CA in {ca} ({error.verify_message}).",
        "Take ca.crt again from the folder that `pfedgp certs` wrote for this server, and give it with --ca.",
    )


def _no_handshake(address: Address, error: OSError, deadline: Deadline) -> ProblemError:
    """Say why there was no handshake at all."""
    answer = b""
    with suppress(OSError):
        answer = _plaintext_answer(address, deadline)
    if answer[3:4] == SETTINGS_FRAME or answer.startswith((b"HTTP/", b"SSH-", b"220")):
        return ProblemError(
            "no-tls",
            f"{address} does not speak TLS: the other side answers in plaintext.",
            "Start it with its certificates (`pfedgp server --certs DIR`), or check that this is its Fleet port.",
        )
    if isinstance(error, TimeoutError):
        return _silent(address, "a TLS handshake")
    reason = getattr(error, "reason", None) or error.strerror or type(error).__name__
    if reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG"):
        return ProblemError(
            "no-tls",
            f"{address} does not speak TLS: the other side answers with something else.",
            f"Check the port: the Fleet port is {FLEET_PORT} unless `pfedgp server --fleet-address` says otherwise.",
        )
    return ProblemError(
        "unexplained",
        f"The TLS handshake with {address} was broken off ({reason}).",
        "Check that this is the Fleet port, and that no firewall on the way opens TLS connections.",
        lasting=False,
    )


def _silent(address: Address, what: str) -> ProblemError:
    return ProblemError(
        "unanswered",
        f"{address} accepts the connection and then stays silent, where {what} should begin.",
        "Check that this is the Fleet port, and that no proxy or firewall on the way holds the connection.",
        lasting=False,
    )


def _not_fleet(address: Address, speaks: str) -> ProblemError:
    return ProblemError(
        "not-fleet",
        f"{address} is not the Fleet port: it speaks {speaks}, as the Control port or a web server does.",
        f"Give the Fleet port ({FLEET_PORT} unless `pfedgp server --fleet-address` says otherwise).",
    )
