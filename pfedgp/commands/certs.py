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
    who.add_argument(
        "--public-key",
        nargs="+",
        default=[],
        type=Path,
        metavar="NAME.pub",
        help="register sites by what pfedgp key made",
    )
    who.add_argument("--clients", metavar="N", help="with --make-keys: the sites client-1 to client-N")
    who.add_argument("--client-names", nargs="+", default=[], metavar="NAME", help="with --make-keys: these sites")
    who.add_argument("--remove", nargs="+", default=[], metavar="NAME", help="take these sites out: their keys end")
    parser.add_argument(
        "--make-keys", action="store_true", help="make the private keys of sites here, where one operator does all"
    )
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
    _require_wish(args)
    from pfedgp.operator.authority import issue
    from pfedgp.operator.site_keys import fingerprint, read_public_keys, register

    count = read_whole(args.clients, "--clients", 10_000) if args.clients is not None else 0
    days = read_whole(args.days, "--days", 3650) if args.days is not None else DAYS
    clients = args.client_names or [f"client-{number}" for number in range(1, count + 1)]
    if len(set(clients)) < len(clients):
        raise ConfigError("--client-names holds a name twice: give every site its own.")
    if pair := first_alike(clients):
        raise ConfigError(
            f"--client-names {pair[0]} and {pair[1]} look alike, and a run refuses one of them: rename it."
        )
    given = read_public_keys(args.public_key)
    made = issue(folder, args.san, clients, days, args.renew_server)
    registered = register(folder / "clients", given)
    marks = {name: fingerprint(key) for name, key in given}
    made.clients += [f"clients/{name}.pub: registered, fingerprint {marks[name]}" for name in registered]
    if not made:
        print(f"Nothing to do: {folder} holds all of this already.")
        return 0
    print(f"In {folder}:")
    for line in made.lines:
        print(f"  {line}")
    carried = "ca.crt and its own clients/NAME" if clients else "ca.crt"
    if made.authority:
        print(f"Carry to each site: {carried}. To nobody: ca.key, server.key.")
        print("Keep ca.key off line, and clients/*.pub confidential: see docs/deploy.md.")
        return 0
    if made.clients:
        print(f"Carry to each new site: {carried}{', over a confidential channel' if clients else ''}.")
        print("A server that runs registers the new keys within seconds.")
    if made.server:
        print("Restart the server: it shows its former certificate until then. A run that is going on survives that.")
        print("Carry nothing to the sites: their ca.crt and their keys stay as they are.")
    return 0


def _require_wish(args: argparse.Namespace) -> None:
    """Refuse to make private keys of sites that nobody asked for, and a wish for keys of no site."""
    named = bool(args.client_names) or args.clients is not None
    if named and not args.make_keys:
        raise ConfigError(
            "The names of sites alone make no keys: let each site make its own with pfedgp key and give --public-key "
            "NAME.pub, or add --make-keys where one operator does all."
        )
    if args.make_keys and not named:
        raise ConfigError("--make-keys is for sites that are named: give --client-names NAME or --clients N.")


def _remove(args: argparse.Namespace, folder: Path) -> int:
    if args.san or args.days is not None or args.renew_server or args.make_keys:
        raise ConfigError("--remove goes with --out alone: leave out --san, --days, --renew-server and --make-keys.")
    from pfedgp.operator.removed import remove_sites

    remove_sites(folder / "clients", args.remove)
    print(f"Taken out: {', '.join(args.remove)}. A server that runs refuses these keys within seconds, another when it")
    print("starts. What a site has of its own, its data and its classifier, stays there.")
    return 0
