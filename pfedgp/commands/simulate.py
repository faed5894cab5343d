"""``pfedgp simulate``: a whole federation, simulated. Everything is checked before a process is started."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pfedgp.collecting import collect
from pfedgp.local.resources import Resources
from pfedgp.options import add_resources, add_settings, check_simulation, read_resources, run_folder
from pfedgp.output_options import add_outputs, given_outputs
from pfedgp.path_arguments import path_text
from pfedgp_core.config import Settings
from pfedgp_core.errors import ArtefactError, ConfigError, RunFailedError
from pfedgp_core.words import counted, few
from server.outputs import Outputs
from server.run.settings import read_settings_file

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    add_settings(parser)
    parser.add_argument(
        "--out", type=path_text, metavar="FOLDER", help="the run's own folder (default: out/DATASET-VARIANT-TIME)"
    )
    add_outputs(parser)
    parser.add_argument(
        "--seeds",
        type=int,
        nargs="+",
        metavar="N",
        help="run each of these seeds below --out, beside each other, and show mean and standard deviation",
    )
    add_resources(parser)


def main(args: argparse.Namespace) -> int:
    """Run the simulation; 0 if it completed."""
    resources = read_resources(args)
    flat = read_settings_file(args.config) if args.config else {}
    outputs = replace(Outputs.take(flat), **given_outputs(args))
    settings, notes = collect(flat, vars(args), args.assignments)
    folder = run_folder(outputs.out, settings)
    outputs.check()
    if args.seeds is not None:
        return _seeds(args, settings, notes, folder, resources, outputs)
    settings = check_simulation(settings, folder)
    _say(notes, settings)

    from pfedgp.local.simulation import run_simulation

    try:
        summary = run_simulation(settings, folder, resources, outputs=outputs)
    except ArtefactError as error:
        # The folder was fine before the run, so this is a failed run and no mistake in the command.
        raise RunFailedError(str(error)) from error
    return 0 if summary.get("status") == "completed" else 1


def _seeds(
    args: argparse.Namespace,
    settings: Settings,
    notes: Sequence[str],
    folder: Path,
    resources: Resources,
    outputs: Outputs,
) -> int:
    from pfedgp.seeds.simulation import check_seeds, simulate_seeds

    check_seeds(args.seeds)
    if args.seed is not None:
        raise ConfigError(f"--seeds and --seed {args.seed} exclude each other: give one of them.")
    if resources.gpus or resources.engine != "pool" or outputs.to_origin():
        raise ConfigError(
            "--seeds runs on CPU workers of this machine, and writes for no other tool: leave out --gpus, --engine, "
            "--cluster, --tensorboard, --prometheus, --mlflow and --wandb, or start each --seed by itself."
        )
    _say(notes, settings)
    simulate_seeds(settings, args.seeds, folder, resources.workers)
    return 0


def _say(notes: Sequence[str], settings: Settings) -> None:
    """Say what was chosen, and which sites of a data set are no clients because they have too few samples."""
    from pfedgp_core.data.simulated import left_out_sites

    for note in notes:
        print(note, flush=True)
    if names := left_out_sites(settings):
        print(
            f"{counted(len(names), 'site')} of {settings.dataset} with fewer than natural-floor = "
            f"{settings.natural_floor} samples, or none for training, left out: {few(names, 20)}",
            flush=True,
        )
