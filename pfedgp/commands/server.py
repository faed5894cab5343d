"""``pfedgp server``: the server of a deployment, in the foreground."""

import argparse
from pathlib import Path

from pfedgp.options import read_whole
from pfedgp.processes.limits import allow_files, most_files
from pfedgp.processes.proxies import keep_direct
from pfedgp_core.errors import ConfigError

__all__ = ["add_arguments", "main"]

CONNECTIONS = 1000
FLEET = "0.0.0.0:9092"
CONTROL = "127.0.0.1:8000"
FILES = 256  # open at once beside connections of sites: the database, logs, connections of operators


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("--certs", type=Path, metavar="DIR", help="folder that pfedgp certs has made")
    parser.add_argument(
        "--state", type=Path, metavar="DIR", help="folder of database, logs and runs (default: below ~/.local/state)"
    )
    parser.add_argument(
        "--fleet-address", default=FLEET, metavar="HOST:PORT", help=f"where sites connect (default: {FLEET})"
    )
    parser.add_argument(
        "--control-address",
        default=CONTROL,
        metavar="HOST:PORT",
        help=f"where pfedgp run connects; without authentication, so never open to others (default: {CONTROL})",
    )
    parser.add_argument(
        "--max-connections",
        metavar="N",
        help=f"connections that the Fleet port holds at a time, one for each site (default: {CONNECTIONS})",
    )
    parser.add_argument("--no-database", action="store_true", help="faster; a restart loses runs and registrations")
    parser.add_argument(
        "--only", choices=["superlink", "superexec"], help="one of the two processes alone, for containers"
    )
    parser.add_argument("--runtime", metavar="HOST:PORT", help="with --only superexec: the SuperLink's control address")
    parser.add_argument(
        "--ca", type=Path, metavar="FILE", help="with --only superexec: ca.crt (default: that of --certs)"
    )
    parser.add_argument(
        "--secret-file", type=Path, metavar="FILE", help="with --only superexec: the SuperLink's superexec.secret"
    )


def main(args: argparse.Namespace) -> int:
    """Run until SIGTERM or Ctrl-C."""
    from pfedgp.operator.addresses import overlap, parse_address
    from pfedgp.operator.server import Server
    from pfedgp.operator.state import ServerState, default_state
    from pfedgp.operator.superlink import run_server, run_superexec

    state = ServerState((args.state or default_state()).expanduser().absolute())
    certs = args.certs.expanduser().absolute() if args.certs else None
    if args.only == "superexec":
        if not args.runtime:
            raise ConfigError("--only superexec needs the address of the SuperLink: give --runtime HOST:PORT.")
        parse_address(args.runtime, "--runtime")
        ca = args.ca or (certs / "ca.crt" if certs else None)
        if ca is None:
            raise ConfigError("--only superexec needs the deployment's ca.crt: give --ca FILE.")
        secret = (args.secret_file or state.secret).expanduser().absolute()
        run_superexec(state, args.runtime, ca.expanduser().absolute(), secret)
        return 0
    for option in ("runtime", "ca", "secret_file"):
        if getattr(args, option):
            raise ConfigError(f"--{option.replace('_', '-')} goes with --only superexec alone: leave it out.")
    if certs is None:
        raise ConfigError("The server needs certificates: make them with pfedgp certs and give --certs DIR.")
    fleet = parse_address(args.fleet_address, "--fleet-address")
    control = parse_address(args.control_address, "--control-address")
    if overlap(fleet, control):
        raise ConfigError(
            f"--fleet-address and --control-address are both on port {fleet[1]}: give the server two ports, as the "
            f"defaults {FLEET} and {CONTROL} have."
        )
    connections = min(CONNECTIONS, max(FILES, most_files() - FILES))
    if args.max_connections is not None:
        connections = read_whole(args.max_connections, "--max-connections", 100_000)
    allow_files(FILES + connections, "The server")
    keep_direct(control[0])  # the server's own programs reach it there
    run_server(Server(state, certs, fleet, control, not args.no_database, args.only is None, connections))
    return 0
