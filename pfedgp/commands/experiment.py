"""``pfedgp experiment``: run a table of the paper, or one of ours, and write it with the paper's numbers."""

import argparse
import os
from dataclasses import replace
from pathlib import Path

from pfedgp.experiments.catalogue import find_experiment, known_experiments
from pfedgp.experiments.cells import select
from pfedgp.experiments.listing import experiment_text, experiments_text
from pfedgp.experiments.reading import read_experiment
from pfedgp.path_arguments import path_text
from pfedgp_core.errors import ConfigError

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="an experiment that --list shows, or a .toml file")
    parser.add_argument("--list", action="store_true", help="run nothing: list the experiments, or what NAME holds")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="its folder (default: out/experiment-NAME)")
    parser.add_argument("--data-root", type=path_text, metavar="PATH", help="folder (or packed file) of the data set")
    parser.add_argument("--rows", nargs="+", metavar="ROW", help="only these rows")
    parser.add_argument("--columns", nargs="+", metavar="COLUMN", help="only these columns")
    parser.add_argument("--seeds", nargs="+", type=int, metavar="N", help="in the place of the experiment's")
    parser.add_argument(
        "--budget", type=float, default=1.0, metavar="SHARE", help="share of the rounds, such as 0.2; the table says so"
    )
    parser.add_argument("--search", action="store_true", help="choose hyper-parameters on validation data first")
    parser.add_argument("--jobs", metavar="N", help="runs side by side (default: one a core)")
    parser.add_argument("--gpus", metavar="N", help="GPUs that they share (default: 0)")
    parser.add_argument("--collect", action="store_true", help="run nothing: write the tables of what there is")
    parser.add_argument("--write", type=Path, metavar="PAGE.md", help="also put the section into this page")


def main(args: argparse.Namespace) -> int:
    """Run what is missing and write the tables; 1 where a cell failed."""
    if args.name is None:
        if not args.list:
            raise ConfigError("pfedgp experiment needs a NAME: see them with pfedgp experiment --list.")
        print(experiments_text(known_experiments()))
        return 0
    experiment = replace(read_experiment(find_experiment(args.name)), call=args.name)
    root = str(Path(args.data_root).expanduser().absolute()) if args.data_root else ""
    selection = select(experiment, args.rows, args.columns, args.seeds, args.budget, root)
    if args.list:
        print(experiment_text(experiment, selection))
        return 0
    from pfedgp.experiments.course import collect, run
    from pfedgp.options import read_count

    default = f"experiment-{experiment.name}" + (f"-{args.budget:g}" if args.budget != 1 else "")
    out = args.out or Path("out") / default
    if args.collect:
        return collect(experiment, selection, out, args.search, args.write)
    jobs = read_count("--jobs", args.jobs, 1) or os.cpu_count() or 1
    return run(experiment, selection, out, args.search, jobs, read_count("--gpus", args.gpus, 0) or 0, args.write)
