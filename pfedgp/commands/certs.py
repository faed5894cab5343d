"""``pfedgp certs``: the certificates and keys of a deployment, made, renewed and taken away on the server's machine."""

import argparse
from pathlib import Path

from pfedgp.options import read_whole
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
    who.add_argument("--remove", nargs="+", default=[], metavar="NAME", help="take these sites out: their keys end")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the certificates and keys")
    parser.add_argument("--days", metavar="D", help=f"days the server's certificate is valid (default: {DAYS})")
    parser.add_argument(
        "--renew-server", action="store_true", help="new server certificate from the same authority; keeps the old file"
    )


def main(args: argparse.Namespace) -> int:
    """Make what is missing, or take sites out, and say what goes where."""
    folder = args.out.expanduser().absolute()
    if args.remove:
        return _remove(args, folder)
    from pfedgp.operator.authority import issue

    count = read_whole(args.clients, "--clients", 10_000) if args.clients is not None else 0
    days = read_whole(args.days, "--days", 3650) if args.days is not None else DAYS
    clients = args.client_names or [f"client-{number}" for number in range(1, count + 1)]
    if len(set(clients)) < len(clients):
        raise ConfigError("--client-names holds a name twice: give every site its own.")
    if pair := first_alike(clients):
        raise ConfigError(
            f"--client-names {pair[0]} and {pair[1]} look alike, and a run refuses one of them: rename it."
        )
    made = issue(folder, args.san, clients, days, args.renew_server)
    if not made:
        print(f"Nothing to do: {folder} holds all of this already.")
        return 0
    print(f"In {folder}:")
    for line in made.lines:
        print(f"  {line}")
    if made.authority:
        print("Carry to each site: ca.crt and its own clients/NAME. To nobody: ca.key, server.key.")
        print("Keep ca.key off line, and clients/*.pub confidential: see docs/deploy.md.")
        return 0
    if made.clients:
        print("Carry to each new site: ca.crt and its own clients/NAME, over a confidential channel.")
        print("A server that runs registers the new keys within seconds.")
    if made.server:
        print("Restart the server: it shows its former certificate until then. A run that is going on survives that.")
        print("Carry nothing to the sites: their ca.crt and their keys stay as they are.")
    return 0


def _remove(args: argparse.Namespace, folder: Path) -> int:
    if args.san or args.days is not None or args.renew_server:
        raise ConfigError("--remove goes with --out alone: leave out --san, --days and --renew-server.")
    from pfedgp.operator.removed import remove_sites

    remove_sites(folder / "clients", args.remove)
    print(f"Taken out: {', '.join(args.remove)}. A server that runs refuses these keys within seconds, another when it")
    print("starts. What a site has of its own, its data and its classifier, stays there.")
    return 0
