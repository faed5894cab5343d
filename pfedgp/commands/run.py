"""``pfedgp run``: start a federation on the server, follow it, and end as it ends."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from pfedgp.collecting import Collected, collect
from pfedgp.operator.connection import add_connection
from pfedgp.options import add_settings, pinned
from pfedgp.output_options import add_outputs, given_outputs
from pfedgp.path_arguments import path_text
from pfedgp_core.config import Settings
from pfedgp_core.config_text import parse_assignment
from pfedgp_core.data.spec import parse_shape
from pfedgp_core.errors import ConfigError

__all__ = ["add_arguments", "main"]

_COUNTS = ("clients", "clients-per-round")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    add_connection(parser)
    add_settings(parser)
    parser.add_argument(
        "--out",
        type=path_text,
        metavar="FOLDER",
        help="the run's own folder, on the server (default: STATE/runs/run-TIME)",
    )
    add_outputs(parser, ", on the server")
    parser.add_argument(
        "--publish", type=path_text, metavar="MODEL", help="train nothing: send this model, RUN/best, to all sites"
    )
    parser.add_argument("--detach", action="store_true", help="start the run and leave it")
    parser.add_argument(
        "--attach", type=path_text, metavar="RUN", help="start nothing: follow a run, by its folder's name or its id"
    )


def main(args: argparse.Namespace) -> int:
    """Run and follow; 0 only if the run completed."""
    from pfedgp.operator.connection import find_target
    from pfedgp.operator.runs import attend, find_run, new_folder, start
    from server.outputs import Outputs
    from server.run.settings import read_settings_file

    flat = read_settings_file(args.config) if args.config else {}
    outputs = replace(Outputs.take(flat), **given_outputs(args))
    flat.pop("publish", None)
    flat.pop("resume", None)
    target = find_target(args)
    with target.connect() as control:
        if args.attach:
            run = find_run(control, args.attach)
            return attend(target, run.run_id, run.name)
        sites = [node.name for node in control.nodes()]
        if not sites:
            raise ConfigError(
                "No site is registered on the server: register public keys with pfedgp certs --public-key."
            )
        settings, notes = _settings(args, flat, len(sites))
        if not args.publish:
            settings = pinned(settings, parse_shape(settings.input_shape))
        publish = args.publish or ""
        if target.here and not publish:  # the server app runs in this installation
            from pfedgp_core.learning.privacy import require_accountant

            require_accountant(settings)
        if publish and target.state is not None:
            publish = str(Path(publish).expanduser().absolute())
        if target.state is not None:
            outputs = Outputs(**{key: _absolute(value) for key, value in outputs.to_run_config().items()})
        if not outputs.out:
            outputs = replace(outputs, out=new_folder(target, "published" if publish else "run"))
        elif target.state is not None:
            from server.run.new_folder import check_new_folder

            check_new_folder(Path(outputs.out))
        others = [run.name for run in control.runs() if not run.finished]
        run_id = start(control, settings, outputs, publish)
    for note in () if publish else notes:
        print(note, flush=True)
    if others:
        print(
            f"Also running: {', '.join(others)}. The sites answer one request at a time, so each run slows the others."
        )
    return attend(target, run_id, Path(outputs.out).name, args.detach)


def _settings(args: argparse.Namespace, flat: dict[str, Any], sites: int) -> Collected:
    """The settings of the run; what says nothing about the number of clients is about the registered ones."""
    named = [f"{key}={getattr(args, key.replace('-', '_'))}" for key in _COUNTS if getattr(args, key.replace("-", "_"))]
    given = flat | dict(map(parse_assignment, named + args.assignments))
    clients = given.get("clients", sites)
    most = min(sites, clients) if isinstance(clients, int) else sites
    per_round = given.get("clients-per-round", min(Settings.clients_per_round, most))
    defaults: dict[str, Any] = {"clients-per-round": per_round}
    if isinstance(per_round, int):
        defaults["clients"] = max(sites, per_round)
    return collect(defaults | flat, vars(args), args.assignments, deployed=True)


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().absolute()) if path else ""
