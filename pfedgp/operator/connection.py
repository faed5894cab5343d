"""The server that a command means: the one of a state folder on this machine, or one at an address."""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pfedgp.operator.addresses import parse_address
from pfedgp.operator.state import ServerState, default_state
from pfedgp.processes.called_as import called_as
from pfedgp.processes.proxies import keep_direct
from pfedgp_core.errors import ConfigError, RunFailedError

if TYPE_CHECKING:
    from pfedgp.operator.control import Control

__all__ = ["Target", "add_connection", "find_target", "state_of"]


@dataclass(frozen=True)
class Target:
    """A server.

    Parameters
    ----------
    address : str
        ``HOST:PORT`` of its Control API.
    ca : Path
        Certificate of the authority.
    state : ServerState or None
        Its state folder, where this machine has it.
    options : str
        The options that name this server, for commands that are shown to the user; empty where they are filled in.
    here : bool
        Whether its processes run on this machine, and in this container.
    """

    address: str
    ca: Path
    state: ServerState | None
    options: str
    here: bool

    def connect(self) -> "Control":
        """Return a connection; nothing is sent yet."""
        from pfedgp.operator.control import Control

        return Control(self.address, self.ca)

    def local(self, path: str) -> Path | None:
        """Return the folder of a run where this machine has it; relative ones are below the server's state folder."""
        if not path:
            return None
        base = self.state.path if self.state else Path("/nonexistent")
        folder = base / path
        return folder if folder.is_dir() else None


def add_connection(parser: argparse.ArgumentParser) -> None:
    """Declare the options that `find_target` reads."""
    parser.add_argument(
        "--state", type=Path, metavar="DIR", help="state folder of the server (default: that of pfedgp server)"
    )
    parser.add_argument(
        "--control", metavar="HOST:PORT", help="control address of a server in another container or host"
    )
    parser.add_argument("--ca", type=Path, metavar="FILE", help="with --control: the deployment's ca.crt")


def state_of(run: Path) -> Path | None:
    """The state folder of the server whose ``runs`` a run's folder is in; None where it is elsewhere."""
    for folder in run.expanduser().absolute().parents:
        if folder.name == "runs" and ServerState(folder.parent).has_server():
            return folder.parent
    return None


def find_target(args: argparse.Namespace) -> Target:
    """Find the server that the options mean.

    Raises
    ------
    ConfigError
        The options do not go together, or no server has run on the state folder.
    RunFailedError
        The server of the state folder does not run.
    """
    if args.ca and not args.control:
        raise ConfigError("--ca goes with --control HOST:PORT: give both, or --state alone.")
    folder = Path(args.state or default_state()).expanduser().absolute()
    state = ServerState(folder)
    named = f" --state {folder}" if args.state else ""
    if args.control:
        parse_address(args.control, "--control")
        ca = Path(args.ca).expanduser().absolute() if args.ca else Path(state.server()["ca"])
        options = f"{named} --control {args.control}" + (f" --ca {ca}" if args.ca else "")
        return Target(args.control, ca, state if args.state else None, "" if called_as() else options, False)
    record = state.server()
    if state.running() is None:
        raise RunFailedError(f"The server of {folder} does not run: start it with {state.start_command()}")
    keep_direct(parse_address(record["control_address"], "control_address")[0])  # it runs on this machine
    return Target(record["control_address"], Path(record["ca"]), state, named, True)
