"""``pfedgp certs``: the certificates and keys of a deployment, made once on the server's machine."""

import argparse
from pathlib import Path

from pfedgp_core.errors import ConfigError
from pfedgp_core.names import first_alike

__all__ = ["add_arguments", "main"]

DAYS = 825


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument(
        "--san",
        action="append",
        default=[],
        metavar="NAME_OR_IP",
        help="host name or address under which sites reach the server, repeatable; localhost is always added",
    )
    who = parser.add_mutually_exclusive_group()
    who.add_argument("--clients", metavar="N", help="make keys for the sites client-1 to client-N")
    who.add_argument("--client-names", nargs="+", default=[], metavar="NAME", help="make keys for sites of these names")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the certificates and keys")
    parser.add_argument("--days", metavar="D", help=f"days the server's certificate is valid (default: {DAYS})")
    parser.add_argument(
        "--renew-server", action="store_true", help="new server certificate from the same authority; keeps the old file"
    )


def main(args: argparse.Namespace) -> int:
    """Make what is missing and say what goes where."""
    from pfedgp.operator.authority import issue

    count = _whole(args.clients, "--clients", 10_000) if args.clients is not None else 0
    days = _whole(args.days, "--days", 3650) if args.days is not None else DAYS
    clients = args.client_names or [f"client-{number}" for number in range(1, count + 1)]
    if len(set(clients)) < len(clients):
        raise ConfigError("--client-names holds a name twice: give every site its own.")
    if pair := first_alike(clients):
        raise ConfigError(
            f"--client-names {pair[0]} and {pair[1]} look alike, and a run refuses one of them: rename it."
        )
    folder = args.out.expanduser().absolute()
    made = issue(folder, args.san, clients, days, args.renew_server)
    if not made:
        print(f"Nothing to do: {folder} holds all of this already.")
        return 0
    print(f"In {folder}:")
    for line in made:
        print(f"  {line}")
    print("Carry to each site: ca.crt and its own clients/NAME. To nobody: ca.key, server.key.")
    print("Keep ca.key off line, and clients/*.pub confidential: see docs/deploy.md.")
    return 0


def _whole(text: str, option: str, high: int) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= high:
        raise ConfigError(f"{option} {text!r} is not a whole number from 1 to {high}.")
    return int(text)
