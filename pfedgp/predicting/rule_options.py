"""Options of ``pfedgp predict`` for answers with a guarantee: a stated risk, and prediction sets."""

import argparse
from pathlib import Path

from pfedgp_core.errors import ConfigError

__all__ = ["add_rules", "check_rules"]

DEFAULT_DELTA = 0.05


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Declare them."""
    parser.add_argument(
        "--risk",
        type=float,
        metavar="R",
        help="abstain where needed, so that at most this share of the given answers is wrong; needs --calibration",
    )
    parser.add_argument(
        "--delta",
        type=float,
        metavar="P",
        help=f"probability that the risk is larger all the same (default: {DEFAULT_DELTA})",
    )
    parser.add_argument(
        "--calibration",
        type=Path,
        metavar="PATH",
        help="labelled samples of this site that nothing was fitted or chosen on, or calibration.json of the run, "
        "whose counts hold for the federation as a whole",
    )
    parser.add_argument(
        "--sets",
        type=float,
        metavar="C",
        help="write a set of classes for each sample that holds the true one with this probability, for example 0.9; "
        "proved with labelled samples in --calibration, else an estimate from the site's own",
    )
    parser.add_argument(
        "--sets-by-class", action="store_true", help="the same for the samples of each class by itself; needs --sets"
    )
    parser.add_argument(
        "--repeats-are-genuine",
        action="store_true",
        help="I assert: samples of --calibration that equal each other were drawn independently",
    )


def check_rules(args: argparse.Namespace) -> None:
    """Refuse values and combinations that cannot be.

    Raises
    ------
    ConfigError
        The text names the option.
    """
    for name, value in (("--risk", args.risk), ("--delta", args.delta), ("--sets", args.sets)):
        if value is not None and not 0 < value < 1:
            raise ConfigError(f"{name} {value:g} is not between 0 and 1: give for example 0.05.")
    if args.risk is not None and args.min_confidence is not None:
        raise ConfigError("--risk finds the threshold that --min-confidence states: give one of them.")
    if args.risk is not None and args.min_typical is not None:
        raise ConfigError(
            "--risk holds for all answers from its threshold on, and --min-typical would leave some of them out: give "
            "one of them."
        )
    if args.risk is not None and args.calibration is None:
        raise ConfigError(
            "--risk needs labelled samples that nothing was fitted or chosen on: give them, or the run's "
            "calibration.json, with --calibration."
        )
    if args.prior is not None and not (args.risk is None and args.sets is None):
        raise ConfigError("--risk and --sets hold for samples of the mix that they were found on: leave out --prior.")
    if args.delta is not None and args.risk is None:
        raise ConfigError("--delta is the probability that --risk is not kept: give --risk, or leave it out.")
    if args.sets_by_class and args.sets is None:
        raise ConfigError("--sets-by-class says how --sets are made: give --sets, for example 0.9.")
    if args.calibration is not None and args.risk is None and args.sets is None:
        raise ConfigError("--calibration is for --risk and --sets: give one of them, or leave it out.")
