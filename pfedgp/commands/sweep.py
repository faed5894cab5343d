"""``pfedgp sweep``: a simulation under many settings, chosen by validation data; the same command resumes it."""

import argparse
from pathlib import Path

from pfedgp.collecting import collect_settings, preset_of_all
from pfedgp.options import add_settings, read_whole
from pfedgp.path_arguments import path_text
from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError
from server.outputs import Outputs
from server.run.settings import read_settings_file

__all__ = ["add_arguments", "main"]

MOST_TRIALS, MOST_WORKERS = 10_000, 10_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    add_settings(parser)
    parser.add_argument(
        "--over",
        action="append",
        default=[],
        metavar="KEY=A,B",
        help="values of a setting that are tried, all combinations where it is repeated",
    )
    parser.add_argument(
        "--range",
        action="append",
        default=[],
        metavar="KEY=LOW:HIGH",
        dest="ranges",
        help="numbers of a setting from which --trials draws; LOW:HIGH:log draws by the logarithm (repeatable)",
    )
    parser.add_argument(
        "--trials",
        metavar="N",
        help="try so many candidates that a search by Optuna proposes, in place of all combinations",
    )
    parser.add_argument(
        "--seeds", type=int, nargs="+", metavar="N", help="run each candidate under each of these (default: --seed)"
    )
    parser.add_argument(
        "--workers", metavar="N", help="processes that train clients, of all runs (default: one a core)"
    )
    parser.add_argument(
        "--out",
        type=path_text,
        required=True,
        metavar="FOLDER",
        help="takes a folder for each candidate, sweep.csv and sweep.json; the same command goes on there",
    )


def main(args: argparse.Namespace) -> int:
    """Run the sweep; 0 if all of its runs completed."""
    from pfedgp.sweeping.choices import Candidate, as_assignments, check_keys, extremes, listed, ranged
    from pfedgp.sweeping.search import require_optuna
    from pfedgp.sweeping.sweep import Sweep

    over, ranges = list(map(listed, args.over)), list(map(ranged, args.ranges))
    check_keys([each.key for each in over] + [each.key for each in ranges])
    if args.seeds is not None and (args.seed is not None or len(set(args.seeds)) < len(args.seeds)):
        raise ConfigError("--seeds has each seed once, and goes without --seed: give one of them.")
    if bool(ranges) > (args.trials is not None):
        raise ConfigError("--range needs --trials: say how many candidates are drawn.")
    trials = None if args.trials is None else read_whole(args.trials, "--trials", MOST_TRIALS)
    workers = None if args.workers is None else read_whole(args.workers, "--workers", MOST_WORKERS)
    if trials is not None:
        require_optuna()
    flat = read_settings_file(args.config) if args.config else {}
    Outputs.take(flat)  # each run has a folder of its own

    preset, note = preset_of_all(flat, vars(args), args.assignments, map(as_assignments, extremes(over, ranges)))
    if note:
        print(note, flush=True)

    def settings(candidate: Candidate) -> Settings:
        named = vars(args) | {"preset": preset}
        return collect_settings(flat, named, [*args.assignments, *as_assignments(candidate)])

    base = settings({})
    seeds = args.seeds or [base.seed]
    sweep = Sweep(Path(args.out).expanduser().absolute(), settings, seeds, workers)
    if trials is None:
        sweep.try_all(over)
    else:
        sweep.search(over, ranges, trials, base.seed)
    return 0
