"""``pfedgp deploy-local``: the deployed form of a federation, as separate Flower processes on this machine."""

import argparse
import math

from pfedgp.collecting import collect
from pfedgp.options import add_assignments, add_backbone, add_preset, check_simulation, run_folder
from pfedgp.path_arguments import path_text
from pfedgp.processes.limits import allow_files
from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError

__all__ = ["add_arguments", "main"]

FILES = 512  # open at once in one of its processes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("--sites", type=int, default=2, metavar="N", help="client processes (default: 2)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="communication rounds (default: 3)")
    parser.add_argument("--dataset", default=Settings.dataset, metavar="NAME", help="data set that the sites share out")
    parser.add_argument("--data-root", type=path_text, metavar="PATH", help="folder (or packed file) of the data set")
    parser.add_argument("--seed", type=int, default=Settings.seed, metavar="N", help="seed of everything random")
    add_assignments(parser)
    add_backbone(parser)
    add_preset(parser)
    parser.add_argument("--stock", action="store_true", help="run Flower's own SuperNodes: some seconds more a round")
    parser.add_argument("--out", type=path_text, metavar="FOLDER", help="folder of the run's artefacts")


def main(args: argparse.Namespace) -> int:
    """Deploy, run and stop; 0 if the run completed."""
    if args.sites < 1:
        raise ConfigError(f"--sites {args.sites} is too few; give at least 1.")
    named = {
        "dataset": args.dataset,
        "data_root": args.data_root,
        "rounds": args.rounds,
        "seed": args.seed,
        "clients": args.sites,
        "clients_per_round": args.sites,
        "classes_per_client": _classes_per_client(args),
        "preset": args.preset,
    }
    settings, notes = collect({}, named, args.assignments, deployed=True)
    if settings.clients != args.sites:
        raise ConfigError(f"clients = {settings.clients} and --sites {args.sites} differ; leave out the first.")
    allow_files(FILES, "A deployment")
    folder = run_folder(args.out or "", settings)
    settings = check_simulation(settings, folder)
    for note in notes:
        print(note, flush=True)

    from pfedgp.local.deployment import deploy_local

    deploy_local(settings, folder, print, stock=args.stock)
    return 0


def _classes_per_client(args: argparse.Namespace) -> int:
    """The smallest number of classes, from two on, that lets the sites hold each class equally often."""
    from pfedgp_core.data.datasets import load_dataset

    classes = len(load_dataset(args.dataset, args.data_root or "", args.seed).class_names)
    step = classes // math.gcd(classes, args.sites)
    return min(classes, step * math.ceil(2 / step))
