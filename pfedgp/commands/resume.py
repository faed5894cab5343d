"""``pfedgp resume``: go on with a run that was cut off, on the engine that it ran on."""

import argparse
from pathlib import Path

from pfedgp.options import add_backbone, add_resources, read_resources, require_backbone
from pfedgp.path_arguments import path_text
from pfedgp_core.errors import ArtefactError, ConfigError, RunFailedError
from server.run.claim import is_claimed
from server.run.resume import Resumable, has_config

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument(
        "run",
        type=path_text,
        metavar="RUN",
        help="folder of the run, the one that holds config.toml; of a deployment's run its name or id will do",
    )
    parser.add_argument("--rounds", metavar="N", help="rounds to reach (default: those of the run); not fewer")
    parser.add_argument(
        "--without",
        metavar="NAME",
        help="train again from the last round before this site joined, as a new run in the folder of --out",
    )
    parser.add_argument("--out", type=path_text, metavar="FOLDER", help="with --without: folder of the new run")
    add_resources(parser, "simulation: ")
    add_backbone(parser)
    parser.add_argument("--state", type=path_text, metavar="FOLDER", help="deployment: the server's state folder")
    parser.add_argument("--control", metavar="HOST:PORT", help="deployment: the server's control address")
    parser.add_argument(
        "--ca", type=path_text, metavar="FILE", help="deployment: the certificate that signed the server's"
    )


def main(args: argparse.Namespace) -> int:
    """Go on with the run; 0 if it completed."""
    args.rounds, path = _rounds(args.rounds), Path(args.run).expanduser().absolute()
    if (args.without is None) != (args.out is None):
        raise ConfigError("--without and --out go together: a run without a site is a new one, in a folder of its own.")
    if args.without is not None:
        path = _without(path, args.without, Path(args.out).expanduser().absolute())
    elsewhere = any((args.state, args.control, args.ca))
    if not has_config(path) and (elsewhere or _server_was_here()):
        return _deployed(path, args)  # the name or id of a run, or a folder on another host or in a container
    former = Resumable.open(path, args.rounds)
    if is_claimed(path):
        raise ArtefactError(f"The run in {path} still runs: wait for its end, or stop it first.")
    if former.engine == "deployment":
        for name in ("workers", "gpus", "engine", "cluster"):
            if getattr(args, name) is not None:
                raise ConfigError(f"--{name} belongs to simulations, and this run was deployed: leave it out.")
        if not elsewhere:
            args.state = _state_of_its_server(path)
        return _deployed(path, args)
    if elsewhere:
        raise ConfigError(
            "--state, --control and --ca belong to deployments, and this run was simulated: leave them out."
        )

    from pfedgp.local.simulation import run_simulation

    resources = read_resources(args)
    require_backbone(former.settings)
    try:
        summary = run_simulation(former.settings, path, resources, resume=True)
    except ArtefactError as error:
        # The folder was fine before the run went on, so this is a failed run and no mistake in the command.
        raise RunFailedError(str(error)) from error
    return 0 if summary.get("status") == "completed" else 1


def _without(run: Path, name: str, out: Path) -> Path:
    """The folder of a new run, from which the site is missing."""
    from server.without import begin_without

    former = begin_without(run, name, out)
    print(f"{out}: goes on after round {former.round} of {run}, the last one before {name} joined.", flush=True)
    return out


def _deployed(path: Path, args: argparse.Namespace) -> int:
    from pfedgp.operator import runs

    return runs.resume(path, args)


def _state_of_its_server(path: Path) -> Path | None:
    """The state folder that a deployed run lies in; None for the default one."""
    from pfedgp.operator.connection import state_of

    state = state_of(path)
    if state is None and not _server_was_here():
        raise ConfigError(f"The run in {path} was deployed: give --state, the folder of the server that ran it.")
    return state


def _server_was_here() -> bool:
    from pfedgp.operator.state import ServerState, default_state

    try:
        ServerState(default_state()).server()
    except ConfigError:
        return False
    return True


def _rounds(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"--rounds {text!r} is not a positive integer; give for example --rounds 20.")
    return int(text)
