"""``pfedgp evaluate``: a trained model on the connected sites' own test data, without any training."""

import argparse
import json
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

from pfedgp.operator.connection import add_connection
from pfedgp.options import read_whole
from pfedgp.path_arguments import path_text
from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError, RunFailedError
from pfedgp_core.files.json_file import read_object
from server.run.files import EVALUATION_FILE

__all__ = ["add_arguments", "main"]

MANY = 1_000_000
LARGEST_CELL = 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    add_connection(parser)
    parser.add_argument(
        "--model",
        type=path_text,
        metavar="MODEL",
        required=True,
        help="trained model, on the server: the folder best or final of a run",
    )
    parser.add_argument("--sites", metavar="N", help="sites to wait for (default: those that are connected)")
    parser.add_argument(
        "--wait", type=float, default=120.0, metavar="SECONDS", help="how long to wait for them (default: 120)"
    )
    parser.add_argument(
        "--min-cell",
        default="10",
        metavar="N",
        help="say nothing of a site with fewer test samples than this (default: 10)",
    )
    parser.add_argument(
        "--out", type=path_text, metavar="FOLDER", help="folder of the results, on the server (default: STATE/runs/...)"
    )
    parser.add_argument(
        "--json", action="store_true", help="print the results as JSON, where this machine has the folder"
    )


def main(args: argparse.Namespace) -> int:
    """Measure and follow; 0 only if the evaluation completed."""
    least = read_whole(args.min_cell, "--min-cell", LARGEST_CELL)
    sites = None if args.sites is None else read_whole(args.sites, "--sites", MANY)
    if not 0 < args.wait < 1e9:
        raise ConfigError(f"--wait {args.wait:g} is no number of seconds: give one above 0.")
    from pfedgp.operator.connection import find_target
    from pfedgp.operator.runs import attend, new_folder, start_evaluation
    from server.outputs import Outputs

    target = find_target(args)
    model, out = args.model, args.out or ""
    if target.state is not None:
        model = str(Path(model).expanduser().absolute())
        out = str(Path(out).expanduser().absolute()) if out else ""
    with target.connect() as control:
        connected = sum(node.online for node in control.nodes())
        if not connected and sites is None:
            raise ConfigError("No site is connected: start the sites, or say for how many to wait with --sites.")
        waiting = Settings(clients=MANY, clients_per_round=MANY, min_results=sites or connected, wait_timeout=args.wait)
        outputs = replace(Outputs(), out=out or new_folder(target, "evaluation"))
        run_id = start_evaluation(control, waiting, outputs, model, least)
    with redirect_stdout(sys.stderr if args.json else sys.stdout):
        code = attend(target, run_id, Path(outputs.out).name)
    folder = target.local(outputs.out)
    if code == 0 and args.json:
        if folder is None:
            raise RunFailedError(f"The results are on the server, in {outputs.out}: read evaluation.json there.")
        print(json.dumps(read_object(folder / EVALUATION_FILE), indent=2, ensure_ascii=False))
    return code
