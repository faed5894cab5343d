"""``pfedgp verify FILE.json``: compare what this installation computes with reference values."""

import argparse
import time
from collections import Counter

import torch

from pfedgp.verification.format import Case, load
from pfedgp.verification.runner import TOPICS, Result, verify
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

    A value that is not understood counts as failed; the summary says how many there were and names them.

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
    unknown: list[Result] = []
    for result in verify(cases, selected, args.seed, DTYPES[args.dtype]):
        print(result, flush=True)
        counts[result.status] += 1
        if not result.understood:
            unknown.append(result)
    print(
        f"{counts['PASS']} passed, {counts['FAIL']} failed, {counts['INFO']} for information, "
        f"in {len(selected)} cases, {time.monotonic() - start:.1f} s"
    )
    if not counts["PASS"] + counts["FAIL"]:
        print("Nothing was compared: these cases have no values for this --dtype.")
    if unknown:
        print(f"{len(unknown)} of the failed were not understood: {_names(unknown, selected)}.")
    return 1 if counts["FAIL"] else 0


def _names(unknown: list[Result], selected: list[Case]) -> str:
    """The topics that are not known, and the values that are not in topics that are."""
    topics = {case.id: case.topic for case in selected}
    known = sorted({f"{r.case} {r.name}".rstrip() for r in unknown if topics[r.case] in TOPICS})
    others = sorted({topics[r.case] for r in unknown} - set(TOPICS))
    parts = (("topics", others), ("values", known))
    return "; ".join(f"{what} {', '.join(names)}" for what, names in parts if names)


def _select(cases: tuple[Case, ...], args: argparse.Namespace) -> list[Case]:
    selected = [c for c in cases if args.case in (None, c.id) and args.topic in (None, c.topic)]
    if not selected:
        wanted = " and ".join(f"{key} {value!r}" for key, value in (("id", args.case), ("topic", args.topic)) if value)
        known = ", ".join(sorted({c.topic for c in cases}))
        with_what = f" with {wanted}" if wanted else ""
        raise ConfigError(f"{args.file} has no case{with_what}; its topics are: {known or 'none'}.")
    return selected
