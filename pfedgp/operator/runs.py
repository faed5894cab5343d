"""Runs on a deployment's server: start, resume, stop, and find one by its folder's name or its id."""

import argparse
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pfedgp.operator.app_bundle import build_bundle
from pfedgp.operator.connection import Target, find_target
from pfedgp.operator.control import Control, Run
from pfedgp.operator.follow import UnfinishedError, follow
from pfedgp.processes.called_as import shown
from pfedgp.processes.signals import exit_code, interrupted
from pfedgp_core.config import Settings
from pfedgp_core.errors import ArtefactError, ConfigError, RunFailedError
from server.outputs import Outputs
from server.run.claim import is_claimed
from server.run.resume import Resumable

__all__ = ["attend", "find_run", "new_folder", "resume", "start", "start_evaluation"]


def start(control: Control, settings: Settings, outputs: Outputs, publish: str = "") -> int:
    """Start a run and return its id.

    Parameters
    ----------
    control : Control
    settings : Settings
        All effective settings.
    outputs : Outputs
        Where the results go; paths are the server's.
    publish : str
        Folder of a model to publish in place of training.
    """
    bundle, digest = build_bundle(Settings().to_run_config() | asdict(Outputs()) | {"publish": ""})
    return control.start(bundle, digest, settings.to_run_config() | asdict(outputs) | {"publish": publish})


def start_evaluation(control: Control, waiting: Settings, outputs: Outputs, model: str, least: int) -> int:
    """Start an evaluation of a model and return the run's id.

    Parameters
    ----------
    control : Control
    waiting : Settings
        For how many sites, and how long, to wait.
    outputs : Outputs
        Where the results go; paths are the server's.
    model : str
        Folder of the model.
    least : int
        Test samples below which nothing is said of a site.
    """
    keys = {"evaluate": model, "min-cell": least}
    bundle, digest = build_bundle(Settings().to_run_config() | asdict(Outputs()) | {"evaluate": "", "min-cell": 0})
    return control.start(bundle, digest, waiting.to_run_config() | asdict(outputs) | keys)


def resume(folder: Path, args: argparse.Namespace) -> int:
    """Go on with a run from its last checkpoint, and follow it; the exit code.

    Parameters
    ----------
    folder : Path
        The run's folder, or its name below the server's ``runs``; where this machine does not have it, it is the
        server's own path.
    args : Namespace
        ``run`` as given, ``rounds`` (more of them, or None), ``state``, ``control``, ``ca``.

    Raises
    ------
    ArtefactError, ConfigError
        There is no such run, or it cannot go on.
    """
    target = find_target(args)
    path = str(folder) if (folder / "config.toml").is_file() else _named_run(target, str(args.run))
    local = Path(path) if target.here else target.local(path)
    if local is not None:
        Resumable.open(local, args.rounds)
        if is_claimed(local):
            raise ArtefactError(f"The run in {local} still runs: wait for its end, or stop it with pfedgp stop.")
    # Only these keys: the run keeps its own settings, and refuses others.
    given: dict[str, Any] = {"resume": path} | ({"rounds": args.rounds} if args.rounds is not None else {})
    bundle, digest = build_bundle({"resume": ""} | ({"rounds": 0} if args.rounds is not None else {}))
    with target.connect() as control:
        run_id = control.start(bundle, digest, given)
    return attend(target, run_id, Path(path).name)


def attend(target: Target, run_id: int, name: str, detach: bool = False) -> int:
    """Follow a run on the console; 0 if it completed, 130 if the user left it, 143 if SIGTERM ended the command.

    Raises
    ------
    RunFailedError
        The run did not complete; the text says why.
    """
    on = shown(f"pfedgp run --attach {name}{target.options}")
    off = shown(f"pfedgp stop {name}{target.options}")
    if detach:
        print(f"Run {name} ({run_id}) goes on by itself. Follow it with: {on}")
        return 0
    print(f"Run {name} ({run_id}) on the server at {target.address}", flush=True)
    try:
        with interrupted():
            follow(target, run_id, lambda line: print(shown(line), flush=True))
    except UnfinishedError as error:
        folder = target.local(error.folder)
        if folder is None or not any((folder / "checkpoints").glob("round-*")):
            raise
        raise RunFailedError(
            f"{error} Go on from its last checkpoint: pfedgp resume {folder}{target.options}"
        ) from error
    except KeyboardInterrupt as stop:
        print(f"\nThe run goes on. Follow it with: {on}; stop it with: {off}", file=sys.stderr, flush=True)
        return exit_code(stop)
    return 0


def find_run(control: Control, text: str) -> Run:
    """Return the latest run of a folder, of a folder's name, or of an id.

    Raises
    ------
    ConfigError
        There is none.
    """
    runs = control.runs()
    wanted = text.rstrip("/")
    for matches in (
        lambda run: str(run.run_id) == wanted,
        lambda run: run.folder == str(Path(wanted).expanduser().absolute()),
        lambda run: run.name == Path(wanted).name,
    ):
        found = [run for run in runs if matches(run)]
        if found:
            return found[0]
    folder = Path(wanted).expanduser().absolute()
    here = f"{folder} is not the folder of a run" if folder.exists() else f"There is no folder {folder}"
    names = list(dict.fromkeys(run.name for run in runs))[:5]  # a resumed run has the name of an earlier one
    known = f"the latest are {', '.join(names)}" if names else "it has had no run yet"
    raise ConfigError(f"{here} and the server knows no run of that name; {known}.")


def new_folder(target: Target, kind: str) -> str:
    """A name for the folder of a new run, as the server understands it."""
    name = f"{kind}-{time.strftime('%Y%m%d-%H%M%S')}"
    if target.state is None:
        return f"runs/{name}"
    path, number = target.state.runs / name, 2
    while path.exists():
        path, number = target.state.runs / f"{name}-{number}", number + 1
    return str(path)


def _named_run(target: Target, text: str) -> str:
    """The server's path of a run that is given by name, id or path."""
    if target.state is not None and (target.state.runs / text / "config.toml").is_file():
        return str(target.state.runs / text)
    if Path(text).is_absolute():
        if target.here:
            raise ArtefactError(f"There is no run in {text}: see the server's runs with pfedgp status{target.options}.")
        return text
    with target.connect() as control:
        found = find_run(control, text).folder
    if not found:
        raise ConfigError(f"The run {text} has left no folder to go on from: start a new one.")
    return found
