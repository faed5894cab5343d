"""``pfedgp verify FILE.json``: compare what this installation computes with reference values."""

import argparse
import time
from collections import Counter

import torch

from pfedgp.verification.format import Case, load
from pfedgp.verification.runner import verify
from pfedgp_core.errors import ConfigError

__all__ = ["add_arguments", "main"]

DTYPES = {"float64": (torch.float64,), "float32": (torch.float32,), "both": (torch.float64, torch.float32)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("file", metavar="FILE.json", help="reference cases in the golden format")
    parser.add_argument(
        "--dtype",
        choices=tuple(DTYPES),
        default="float64",
        help="precision; float32 covers the exact values that state a tolerance for it (default: float64)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of everything that is sampled (default: 0)")
    parser.add_argument("--case", metavar="ID", help="check only this case")
    parser.add_argument("--topic", metavar="T", help="check only the cases of this topic")


def main(args: argparse.Namespace) -> int:
    """Print one line for each expected value and a summary; return 1 if one of them failed, else 0.

    Raises
    ------
    ConfigError
        The file cannot be read or is not in the format, or no case is selected.
    """
    cases = load(args.file)
    selected = _select(cases, args)
    torch.set_num_threads(1)  # small batched factorisations are slower on several
    start = time.monotonic()
    counts: Counter[str] = Counter()
    for result in verify(cases, selected, args.seed, DTYPES[args.dtype]):
        print(result, flush=True)
        counts[result.status] += 1
    print(
        f"{counts['PASS']} passed, {counts['FAIL']} failed, {counts['INFO']} for information, "
        f"in {len(selected)} cases, {time.monotonic() - start:.1f} s"
    )
    if not counts["PASS"] + counts["FAIL"]:
        print("Nothing was compared: these cases have no values for this --dtype.")
    return 1 if counts["FAIL"] else 0


def _select(cases: tuple[Case, ...], args: argparse.Namespace) -> list[Case]:
    selected = [c for c in cases if args.case in (None, c.id) and args.topic in (None, c.topic)]
    if not selected:
        wanted = " and ".join(f"{key} {value!r}" for key, value in (("id", args.case), ("topic", args.topic)) if value)
        known = ", ".join(sorted({c.topic for c in cases}))
        with_what = f" with {wanted}" if wanted else ""
        raise ConfigError(f"{args.file} has no case{with_what}; its topics are: {known or 'none'}.")
    return selected
