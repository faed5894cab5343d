"""``pfedgp dashboard``: the operator's page, which shows a server, its sites and its runs, and changes nothing."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from pfedgp.operator.addresses import parse_address
from pfedgp.operator.connection import add_connection
from pfedgp.operator.state import ServerState, default_state
from pfedgp.options import read_whole
from pfedgp.serving.listening import (
    add_listening,
    address_of,
    check_listening,
    names_of,
    run_until_stopped,
    warn_of_plaintext,
)
from pfedgp.serving.token import read_token
from pfedgp_core.errors import ConfigError

if TYPE_CHECKING:
    from pfedgp.dashboard.watch import Watch

__all__ = ["add_arguments", "main"]

FILE = "dashboard.token"  # in the state folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    add_connection(parser)
    parser.add_argument("--json", action="store_true", help="print what the page would show as JSON, and end")
    add_listening(parser, 8788, f"STATE/{FILE}", "token and page")


def main(args: argparse.Namespace) -> int:
    """Print one snapshot, or answer until it is stopped; 0 after SIGTERM or Ctrl-C."""
    port = read_whole(args.port, "--port", 65535)
    check_listening(args)
    watch, folder = _watch(args)
    if args.json:
        print(json.dumps(watch.look(), indent=2, ensure_ascii=False))
        return 0
    from pfedgp.dashboard.app import make_app
    from pfedgp.serving.server import listen, make_server

    names = names_of(args)
    token_file = (args.token or folder / FILE).expanduser()
    token = read_token(token_file)
    with listen(args.host, port) as socket:
        server = make_server(make_app(watch, token, names), args.certificate, args.key)
        warn_of_plaintext(args, "token, names of sites and results")
        address = address_of(args, port)
        print(f"The page is at {address}/, metrics are at {address}/metrics; token in {token_file}", flush=True)
        run_until_stopped(server, socket)
    return 0


def _watch(args: argparse.Namespace) -> "tuple[Watch, Path]":
    """What the page looks at, and the folder of its state.

    Raises
    ------
    ConfigError
        The options do not go together, or there is no such folder.
    """
    if args.ca and not args.control:
        raise ConfigError("--ca goes with --control HOST:PORT: give both, or --state alone.")
    if args.control:
        parse_address(args.control, "--control")
    state = ServerState(Path(args.state or default_state()).expanduser().absolute())
    if not state.path.is_dir():
        raise ConfigError(
            f"There is no folder {state.path}: start the server with pfedgp server, or name its folder with --state."
        )
    if (state.path / "client.json").exists() and not state.has_server():
        raise ConfigError(f"{state.path} is the state folder of a site: give that of a server with --state.")
    from pfedgp.dashboard.watch import Watch

    return Watch(state, args.control or "", args.ca and args.ca.expanduser().absolute()), state.path
