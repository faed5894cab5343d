"""The options of a verb that answers over HTTP: where it listens, its token and its certificate; and how it ends."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pfedgp.operator.addresses import is_loopback, join
from pfedgp.processes.signals import on_stop_signal
from pfedgp_core.errors import ConfigError

if TYPE_CHECKING:
    import socket

    import uvicorn

__all__ = ["add_listening", "address_of", "check_listening", "names_of", "run_until_stopped", "warn_of_plaintext"]


def add_listening(parser: argparse.ArgumentParser, port: int, token: str, travels: str) -> None:
    """Declare the options.

    Parameters
    ----------
    parser : ArgumentParser
    port : int
        The default.
    token : str
        Where the token is by default.
    travels : str
        What travels in plaintext with ``--insecure``.
    """
    parser.add_argument("--host", default="127.0.0.1", metavar="HOST", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", default=str(port), metavar="N", help=f"port to listen on (default: {port})")
    parser.add_argument(
        "--token", type=Path, metavar="FILE", help=f"file with the token of all requests, made if missing ({token})"
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="another name under which it is asked, such as that of a container (repeatable)",
    )
    parser.add_argument("--certificate", type=Path, metavar="FILE", help="certificate of this machine, for HTTPS")
    parser.add_argument("--key", type=Path, metavar="FILE", help="its private key")
    parser.add_argument(
        "--insecure", action="store_true", help=f"plaintext on an address that other machines reach, {travels}"
    )


def check_listening(args: argparse.Namespace) -> None:
    """Refuse plaintext on an address that others reach, unless the operator wants it.

    Raises
    ------
    ConfigError
        The options do not go together.
    """
    if (args.certificate is None) != (args.key is None):
        raise ConfigError("--certificate and --key go together: give both.")
    if args.certificate is None and not is_loopback(args.host) and not args.insecure:
        raise ConfigError(
            f"--host {args.host} can be reached from other machines: give --certificate and --key, or --insecure where "
            "something else encrypts."
        )


def names_of(args: argparse.Namespace) -> frozenset[str]:
    """The names under which the command answers: of its address, its certificate, and those of ``--allow-host``.

    Raises
    ------
    ConfigError
        The certificate cannot be read.
    """
    from pfedgp.operator.authority import read_certificate, subject_names
    from pfedgp.serving.hosts import host_names

    certified = subject_names(read_certificate(args.certificate.expanduser())) if args.certificate else []
    return host_names(args.host, [*args.allow_host, *certified])


def warn_of_plaintext(args: argparse.Namespace, what: str) -> None:
    """Say what travels unencrypted, where ``--insecure`` lets it."""
    if args.insecure and not is_loopback(args.host):
        print(f"Warning: {what} travel unencrypted (--insecure).", file=sys.stderr)


def address_of(args: argparse.Namespace, port: int) -> str:
    """The address as a browser takes it, without a path."""
    return f"{'https' if args.certificate else 'http'}://{join(args.host, port)}"


def run_until_stopped(server: "uvicorn.Server", socket: "socket.socket") -> None:
    """Answer until SIGTERM or Ctrl-C; requests under way are answered before the end."""

    def stop(_: int) -> None:
        server.should_exit = True

    with on_stop_signal(stop):
        server.run(sockets=[socket])
    print("Stopped.", flush=True)
