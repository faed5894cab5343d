"""``pfedgp bundle``: a trained model in one signed file, for sites that onboard themselves without any server."""

import argparse
import os
from pathlib import Path

from pfedgp.bundles.signing import fingerprint, seal
from pfedgp_core.errors import ArtefactError, ConfigError, UnreadableFileError
from pfedgp_core.files.keys import read_signing_key
from pfedgp_core.files.private import OTHERS
from pfedgp_core.files.whole import explained, write_whole
from pfedgp_core.words import size

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("model", type=Path, nargs="?", metavar="MODEL", help="the folder best or final of a run")
    parser.add_argument("--key", type=Path, metavar="FILE", help="private key that signs: Ed25519 in PEM")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the bundle to write (default: MODEL.bundle)")
    parser.add_argument(
        "--new-key", type=Path, metavar="FILE", help="make a private key, and FILE.pub for the sites, and nothing else"
    )


def main(args: argparse.Namespace) -> int:
    """Write the bundle, or a new pair of keys; 0 once it is whole."""
    if args.new_key is not None:
        if args.model is not None or args.key is not None or args.out is not None:
            raise ConfigError("--new-key makes a key and nothing else: leave out the rest.")
        _make_key(args.new_key.expanduser())
        return 0
    if args.model is None or args.key is None:
        raise ConfigError("Give the folder of a model, and the key that signs it with --key; --new-key makes one.")
    _bundle(args.model.expanduser(), args.key.expanduser(), args.out)
    return 0


def _bundle(folder: Path, key_file: Path, out: Path | None) -> None:
    try:
        key = read_signing_key(key_file)
    except UnreadableFileError as error:
        raise ConfigError(
            f"--key {key_file} cannot sign ({error.reason}): give a private key that pfedgp bundle --new-key made."
        ) from error
    if key_file.stat().st_mode & OTHERS:
        raise ArtefactError(f"Other users of this machine may read the key {key_file}: make a new one.")
    from pfedgp.run_model import read_whole_model

    content, model = read_whole_model(folder)
    path = (out or folder.absolute().with_name(f"{folder.absolute().name}.bundle")).expanduser()
    bundle = seal(content, key)
    write_whole(path, bundle)
    print(
        f"Bundle {path}: model {model.sha256[:12]}, {size(len(bundle))}, signed with the key "
        f"{fingerprint(key.public_key().public_bytes_raw())}"
    )


def _make_key(path: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key = Ed25519PrivateKey.generate()
    public = path.with_name(f"{path.name}.pub")
    if path.exists() or public.exists():
        raise ArtefactError(f"{path} or {public} is there already: give --new-key another name.")
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with explained(path):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(secret)
    write_whole(public, key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    name = fingerprint(key.public_key().public_bytes_raw())
    print(f"Key {name}: {path} signs and stays here; {public} goes to every site, on a way that nobody else changes.")
