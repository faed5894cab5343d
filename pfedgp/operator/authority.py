"""The keys of a deployment: an authority, the server's certificate with all its names, and the keys of the sites.

``ca.crt``, ``ca.key``
    The deployment's own certificate authority. ``ca.crt`` goes to every site, ``ca.key`` stays.
``server.crt``, ``server.key``
    The SuperLink's certificate for every name and address under which sites reach it.
``clients/NAME.pub``, ``clients/NAME``
    The public key of a site that the server registers; and where it was made here, the private one for that site alone.
"""

import ipaddress
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from pfedgp.operator.site_keys import check_name, make_pair, write_new
from pfedgp_core.errors import ConfigError, UnreadableFileError
from pfedgp_core.files import keys
from pfedgp_core.files.private import private_folder
from server.run.files import explained

__all__ = ["ALWAYS", "Issued", "issue", "read_certificate", "subject_names"]

# Flower's own programs on the server reach it under these.
ALWAYS = ("localhost", "127.0.0.1", "::1")
CA_DAYS = 3650
_PUBLIC = ("ca.crt", "server.crt")
_CLOCKS_DIFFER = timedelta(hours=1)
_HOST = re.compile(
    r"(\*\.)?([A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)*[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
)


@dataclass
class Issued:
    """What `issue` has made, a line for each thing."""

    authority: list[str] = field(default_factory=list)
    server: list[str] = field(default_factory=list)
    clients: list[str] = field(default_factory=list)

    @property
    def lines(self) -> list[str]:
        """All of them."""
        return self.authority + self.server + self.clients

    def __bool__(self) -> bool:
        return bool(self.lines)


def issue(
    folder: Path, names: Sequence[str], clients: Sequence[str], days: int = 825, renew_server: bool = False
) -> "Issued":
    """Make what is missing in the folder; nothing that exists is overwritten.

    Parameters
    ----------
    folder : Path
        Takes the files; it and the keys are for their owner's eyes only.
    names : sequence of str
        Host names and addresses of the server; `ALWAYS` is added.
    clients : sequence of str
        Names of the sites that need a key pair.
    days : int (default: 825)
        Days for which the server's certificate is valid.
    renew_server : bool (default: False)
        Make a new server certificate from the same authority; the old one stays under a name with its date.
        Without `names` it keeps the names of the old one.

    Returns
    -------
    Issued
        What was made; false where there was nothing to do.

    Raises
    ------
    ConfigError
        A name cannot be used, or the folder holds a part of what belongs together.
    ArtefactError
        The folder cannot be written.
    """
    for name in clients:
        check_name(name)
    wanted = [_general_name(name) for name in names]
    # Keys of clients need no authority, so that ca.key may be kept elsewhere once the server has its certificate.
    if renew_server or not (folder / "server.crt").exists() or not (folder / "ca.crt").exists():
        _complete(folder, "ca")
    _complete(folder, "server")
    if (folder / "server.crt").exists() and not (folder / "ca.crt").exists():
        raise ConfigError(f"{folder} has a server certificate but no authority: give another --out, or restore ca.*.")
    if not (folder / "server.crt").exists() and not names:
        raise ConfigError("A server certificate needs the names of the server: give --san NAME_OR_IP.")
    private_folder(folder, (*_PUBLIC, "clients"))
    with explained(folder):
        (folder / "clients").mkdir(mode=0o700, exist_ok=True)

    made = Issued()
    if not (folder / "ca.crt").exists():
        made.authority.append(_make_authority(folder))
    if not (folder / "server.crt").exists():
        made.server.append(_make_server(folder, wanted, days))
    elif renew_server:
        kept = [] if names else _alternative_names(read_certificate(folder / "server.crt"))
        _signer(folder)  # before anything is moved
        old = _put_aside(folder)
        made.server += [_make_server(folder, wanted or kept, days), f"the old one is kept as {old}"]
    elif missing := [n for n in wanted if n not in _alternative_names(read_certificate(folder / "server.crt"))]:
        listed = ", ".join(str(name.value) for name in missing)
        raise ConfigError(f"The server certificate in {folder} is not for {listed}: repeat with --renew-server.")
    new = [name for name in clients if not _has_client(folder / "clients", name)]
    made.clients += [_make_client(folder / "clients", name) for name in new]
    return made


def read_certificate(path: Path) -> x509.Certificate:
    """Read a certificate, PEM or DER.

    Raises
    ------
    ConfigError
        There is none, or it cannot be read.
    """
    try:
        return keys.read_certificate(path)
    except UnreadableFileError as error:
        raise ConfigError(
            f"Cannot read the certificate {path} ({error.reason}): give the folder of pfedgp certs, restore the file, "
            "or make new ones."
        ) from error


def subject_names(certificate: x509.Certificate) -> list[str]:
    """Return the host names and addresses that a certificate is for."""
    return [str(name.value) for name in _alternative_names(certificate)]


def _general_name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text.strip("[]")))
    except ValueError:
        pass
    if not _HOST.fullmatch(text) or len(text) > 253 or re.fullmatch(r"[0-9.]+", text):
        raise ConfigError(f"--san {text!r} is no host name and no IP address: give it without port, path or spaces.")
    return x509.DNSName(text.lower())


def _alternative_names(certificate: x509.Certificate) -> list[x509.GeneralName]:
    try:
        return list(certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        return []


def _complete(folder: Path, stem: str) -> None:
    """Refuse half of a pair: a new other half would not fit what is already in use."""
    pair = [folder / f"{stem}.crt", folder / f"{stem}.key"]
    there = [path.exists() for path in pair]
    if any(there) and not all(there):
        lost, kept = (pair[1], pair[0]) if there[0] else (pair[0], pair[1])
        raise ConfigError(f"{lost} is missing beside {kept.name}: restore it, or give another --out.")


def _make_authority(folder: Path) -> str:
    key = ec.generate_private_key(ec.SECP384R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"pFedGP CA {datetime.now(UTC):%Y-%m-%d}")])
    usage = _usage(key_cert_sign=True, crl_sign=True)
    certificate = (
        _dated(name, name, key.public_key(), CA_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA384())
    )
    write_new(folder / "ca.key", _private(key, serialization.PrivateFormat.PKCS8), 0o600)
    write_new(folder / "ca.crt", certificate.public_bytes(serialization.Encoding.PEM), 0o644)
    return f"ca.crt: authority, valid until {_until(certificate)}"


def _make_server(folder: Path, names: Sequence[x509.GeneralName], days: int) -> str:
    authority, signer = read_certificate(folder / "ca.crt"), _signer(folder)
    key = ec.generate_private_key(ec.SECP384R1())
    every = list(dict.fromkeys([*names, *map(_general_name, ALWAYS)]))
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, str(every[0].value)[:64])])
    builder = _dated(subject, authority.subject, key.public_key(), days, authority.not_valid_after_utc)
    certificate = (
        builder.add_extension(x509.SubjectAlternativeName(every), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(digital_signature=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(_authority_identifier(authority), critical=False)
        .sign(signer, hashes.SHA384())
    )
    write_new(folder / "server.key", _private(key, serialization.PrivateFormat.PKCS8), 0o600)
    write_new(folder / "server.crt", certificate.public_bytes(serialization.Encoding.PEM), 0o644)
    return f"server.crt: for {', '.join(subject_names(certificate))}, valid until {_until(certificate)}"


def _make_client(folder: Path, name: str) -> str:
    make_pair(folder, name)
    return f"clients/{name}: key pair, does not expire"


def _has_client(folder: Path, name: str) -> bool:
    private, public = (folder / name).exists(), (folder / f"{name}.pub").exists()
    if private and not public:
        raise ConfigError(f"{folder / name}.pub is missing beside the private key: restore it, or remove both.")
    # The private key alone may be gone: it belongs to the site.
    return public


def _put_aside(folder: Path) -> str:
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    for name in ("server.crt", "server.key"):
        with explained(folder / name):
            os.rename(folder / name, folder / f"{name}.{stamp}.old")
    return f"server.crt.{stamp}.old"


def _signer(folder: Path) -> ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey:
    try:
        key = keys.read_private_key(folder / "ca.key")
    except UnreadableFileError as error:
        raise ConfigError(
            f"{folder / 'ca.key'} is no unencrypted PEM key ({error.reason}), and the authority signs with it: restore "
            "it, or give another --out."
        ) from error
    authority = read_certificate(folder / "ca.crt")
    if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise ConfigError(f"{folder / 'ca.key'} is neither an EC nor an RSA key: give another --out.")
    if key.public_key() != authority.public_key():
        raise ConfigError(f"ca.key and ca.crt in {folder} do not belong together: restore the right pair.")
    return key


def _dated(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int, latest: datetime | None = None
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    end = now + timedelta(days=days)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCKS_DIFFER)
        .not_valid_after(min(end, latest) if latest else end)
    )


def _authority_identifier(authority: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    """The identifier of the authority's key; an authority that others made may not name its own."""
    try:
        named = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        named = x509.SubjectKeyIdentifier.from_public_key(authority.public_key())
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(named)


def _usage(**set_to: bool) -> x509.KeyUsage:
    every = [
        *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"),
        *("key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
    ]
    return x509.KeyUsage(**{name: set_to.get(name, False) for name in every})


def _private(key: ec.EllipticCurvePrivateKey, form: serialization.PrivateFormat) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def _until(certificate: x509.Certificate) -> str:
    return f"{certificate.not_valid_after_utc:%Y-%m-%d}"
