"""``pfedgp bench``: what one client's update and evaluation cost, against a plain training epoch."""

import argparse
import os
from pathlib import Path
from typing import Any

from pfedgp.benchmarking.cases import VARIANTS, select
from pfedgp_core.errors import ArtefactError, ConfigError

__all__ = ["add_arguments", "main"]

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
REPEATS, QUICK_REPEATS = 9, 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything measured to this file")
    parser.add_argument("--quick", action="store_true", help="a few small cases, few repeats: less than a minute")
    parser.add_argument("--variant", nargs="+", metavar="NAME", help=f"only these variants: {', '.join(VARIANTS)}")
    parser.add_argument("--classes", nargs="+", type=int, metavar="K", help="only clients with so many classes")
    parser.add_argument("--n", nargs="+", type=int, metavar="N", help="only clients with so many training samples")
    parser.add_argument(
        "--repeats",
        type=int,
        metavar="R",
        help=f"fewest pairs of update and epoch, in each case below 10000 samples (default: {REPEATS})",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of data, weights and draws (default: 0)")


def main(args: argparse.Namespace) -> int:
    """Measure the selected cases; 0 once all are measured."""
    cases = select(args.variant, args.classes, args.n, args.quick)
    repeats = args.repeats if args.repeats is not None else QUICK_REPEATS if args.quick else REPEATS
    if repeats < 1:
        raise ConfigError(f"--repeats {repeats} measures nothing; give 1 or more.")
    cases[0].settings(args.seed)  # refuses a seed out of range
    if args.json is not None and (args.json.is_dir() or not args.json.absolute().parent.is_dir()):
        raise ArtefactError(f"Cannot write {args.json}: give the name of a file in a folder that exists.")

    # The libraries below torch read these once, when they are loaded.
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    import torch

    torch.set_num_threads(1)
    from pfedgp.benchmarking import report
    from pfedgp.benchmarking.clock import WORTH
    from pfedgp.benchmarking.machine import describe_machine, load
    from pfedgp.benchmarking.measure import CaseBenchmark

    measured: dict[str, Any] = {
        "machine": describe_machine(),
        "seed": args.seed,
        "repeats": repeats,
        "cases": [],
        "scaling": [],
    }
    print(report.header(), flush=True)
    for case in cases:
        result = CaseBenchmark(case, repeats, args.seed, 0.0 if args.quick else WORTH).run()
        measured["cases"].append(result)
        measured["scaling"] = report.scaling(measured["cases"])
        measured["machine"]["load_at_end"] = load()
        print(report.line(result), flush=True)
        if args.json is not None:
            report.write(args.json, measured)  # after every case, so that a stopped benchmark is not lost
    print(report.footer(measured))
    return 0
