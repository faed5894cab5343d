"""``pfedgp doctor``: what prevents a site or a server from working, a line for each check."""

import argparse
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pfedgp.table_options import add_table_options, table_choice
from pfedgp_core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pfedgp.doctor.problem import Check

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("--superlink", metavar="HOST:PORT", help="on a site: the server's Fleet port")
    parser.add_argument("--ca", type=Path, metavar="FILE", help="on a site: ca.crt of the server")
    parser.add_argument("--key", type=Path, metavar="FILE", help="on a site: its private key")
    parser.add_argument("--insecure", action="store_true", help="on a site: plaintext, without --ca and --key")
    parser.add_argument("--data", type=Path, metavar="PATH", help="on a site: its labelled data")
    parser.add_argument(
        "--label-column", default="label", metavar="NAME", help="column of a table with the class (default: label)"
    )
    add_table_options(parser)
    parser.add_argument("--device", metavar="NAME", help="on a site: auto, cpu, cuda or cuda:1 (default: auto)")
    parser.add_argument("--state", type=Path, metavar="DIR", help="state folder of the site, or of the server")
    parser.add_argument(
        "--certs", type=Path, metavar="DIR", help="on the server: folder of pfedgp certs (default: the server's own)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def main(args: argparse.Namespace) -> int:
    """Print the checks; 1 if one of them found a problem."""
    found: list[Check] = []
    for check in _site(args) if args.superlink else _server(args):
        found.append(check)
        if not args.json:
            print(check.line, flush=True)
    problems = sum(check.status == "problem" for check in found)
    if args.json:
        checks = [
            {
                "topic": check.topic,
                "status": check.status,
                "fact": check.fact,
                "problem": None if check.problem is None else check.problem._asdict(),
            }
            for check in found
        ]
        print(json.dumps({"problems": problems, "checks": checks}, indent=2))
    else:
        warnings = sum(check.status == "warning" for check in found)
        print(f"\nProblems: {problems}, warnings: {warnings}.")
    return 1 if problems else 0


def _site(args: argparse.Namespace) -> "Iterator[Check]":
    if args.insecure and (args.ca or args.key):
        raise ConfigError("--insecure uses neither --ca nor --key: leave out the one or the others.")
    if not args.insecure and not args.ca:
        raise ConfigError("--ca is missing: give the ca.crt of the server, or --insecure for a test on one machine.")
    if args.certs:
        raise ConfigError("--certs is for the server: leave it out, or leave out --superlink.")
    from pfedgp.doctor.local import check_client, check_data_at, check_device, check_folder, check_versions
    from pfedgp.doctor.patches import check_patches
    from pfedgp.doctor.problem import checked
    from pfedgp.doctor.site import check_connection
    from pfedgp.patches import patches_of

    yield check_versions("the server's cannot be seen from a site")
    yield check_patches(patches_of("site"))
    yield from check_connection(args.superlink, args.ca, args.key, measure=True)
    if args.state:
        folder = args.state.expanduser().absolute()
        yield from check_folder(folder)
        yield from check_client(folder)
    yield checked("device", partial(check_device, args.device or "auto"))
    if args.data:
        yield checked("data", partial(check_data_at, args.data, args.label_column, table_choice(args)))


def _server(args: argparse.Namespace) -> "Iterator[Check]":
    for option in ("ca", "key", "data", "device"):
        if getattr(args, option):
            raise ConfigError(f"--{option} is for a site: give --superlink HOST:PORT too.")
    from pfedgp.doctor.patches import check_patches
    from pfedgp.doctor.server import check_server
    from pfedgp.operator.state import ServerState, default_state
    from pfedgp.patches import patches_of

    state = ServerState((args.state or default_state()).expanduser().absolute())
    if (state.path / "client.json").exists() and not (state.path / "server.json").exists():
        raise ConfigError(f"{state.path} is the state folder of a site: give --superlink, --ca and --key too.")
    certs = args.certs.expanduser().absolute() if args.certs else None
    yield check_patches(patches_of("server"))
    yield from check_server(state, certs)
