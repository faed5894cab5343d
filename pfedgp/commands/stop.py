"""``pfedgp stop``: end a run, or the server."""

import argparse
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pfedgp.operator.connection import add_connection
from pfedgp.path_arguments import path_text
from pfedgp_core.errors import ConfigError, PFedGPError, RunFailedError

if TYPE_CHECKING:
    from pfedgp.operator.control import Run

__all__ = ["add_arguments", "main"]

PATIENCE = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("run", type=path_text, nargs="?", metavar="RUN", help="the run: its folder's name or its id")
    parser.add_argument("--server", action="store_true", help="stop the server of --state in place of a run")
    add_connection(parser)


def main(args: argparse.Namespace) -> int:
    """Stop what is named, and wait until it has ended."""
    if bool(args.run) == args.server:
        raise ConfigError("Say what to stop: either RUN or --server.")
    return _stop_server(args) if args.server else _stop_run(args)


def _stop_run(args: argparse.Namespace) -> int:
    from pfedgp.operator.connection import find_target, state_of
    from pfedgp.processes.called_as import shown

    if not (args.state or args.control or args.ca):
        args.state = state_of(Path(args.run))
    target = find_target(args)
    from pfedgp.operator.runs import find_run  # with Flower, which takes seconds to load

    with target.connect() as control:
        run = find_run(control, args.run)
        if run.finished:
            print(f"Run {run.name} has ended already ({run.status}).")
            return 0
        control.stop(run.run_id)
        name, folder = run.name, run.folder
    print(shown(f"Run {name} is stopped. Go on with it later: pfedgp resume {folder}{target.options}"))
    return 0


def _stop_server(args: argparse.Namespace) -> int:
    from pfedgp.operator.state import ServerState, default_state

    if args.control:
        raise ConfigError("--server stops the server on this machine: give its --state, not --control.")
    state = ServerState((args.state or default_state()).expanduser().absolute())
    pid = state.running()
    if pid is None:
        print(f"No server runs on {state.path}.")
        return 0
    cut_off = _unfinished(args)
    try:
        os.kill(pid, signal.SIGTERM)
    except OSError as error:
        raise RunFailedError(
            f"Cannot stop the server, process {pid} ({error.strerror}): do it as its owner."
        ) from error
    deadline = time.monotonic() + PATIENCE
    while state.running() == pid:
        if time.monotonic() > deadline:
            raise RunFailedError(f"The server, process {pid}, has not ended after {PATIENCE:g} s: see its own lines.")
        time.sleep(0.2)
    print("The server is stopped.")
    options = f" --state {state.path}" if args.state else ""
    for run in cut_off:
        begun = (state.path / run.folder / "config.toml").is_file()
        way_on = f"pfedgp resume {run.folder}{options}" if begun else "start it anew, as it had not begun"
        print(f"Run {run.name} is cut off. Once the server runs again: {way_on}")
    if cut_off:
        print(f"Start the server again with: {state.start_command()}")
    return 0


def _unfinished(args: argparse.Namespace) -> "list[Run]":
    """The runs that end with the server, as far as it still answers."""
    from pfedgp.operator.connection import find_target

    try:
        with find_target(args).connect() as control:
            return [run for run in control.runs() if not run.finished]
    except PFedGPError:
        return []
