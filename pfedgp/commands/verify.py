"""``pfedgp verify FILE.json``: compare what this installation computes with reference values.

A case may refer to one of another file: one that is given as well, or one that lies in the same folder.
"""

import argparse
import time
from collections import Counter
from collections.abc import Mapping, Sequence

import torch

from pfedgp.path_arguments import path_text
from pfedgp.verification.beside import beside
from pfedgp.verification.cases.format import Case, load
from pfedgp.verification.runner import TOPICS, Result, verify
from pfedgp_core.errors import ConfigError

__all__ = ["add_arguments", "main"]

DTYPES = {"float64": (torch.float64,), "float32": (torch.float32,), "both": (torch.float64, torch.float32)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument(
        "files", type=path_text, metavar="FILE.json", nargs="+", help="reference cases in the golden format"
    )
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
    loaded = {file: load(file) for file in args.files}
    selected = {file: _select(cases, args) for file, cases in loaded.items()}
    if not any(selected.values()):
        raise _nothing([case for cases in loaded.values() for case in cases], args)
    torch.set_num_threads(1)  # small batched factorisations are slower on several
    start = time.monotonic()
    counts: Counter[str] = Counter()
    unknown: list[tuple[Result, str]] = []
    for file, chosen in selected.items():
        topics = {case.id: case.topic for case in chosen}
        if len(loaded) > 1:
            print(f"{file}:")
        for result in verify(_known(file, loaded), chosen, args.seed, DTYPES[args.dtype]):
            print(result, flush=True)
            counts[result.status] += 1
            if not result.understood:
                unknown.append((result, topics[result.case]))
    print(
        f"{counts['PASS']} passed, {counts['FAIL']} failed, {counts['INFO']} for information, "
        f"in {sum(map(len, selected.values()))} cases, {time.monotonic() - start:.1f} s"
    )
    if not counts["PASS"] + counts["FAIL"]:
        print("Nothing was compared: these cases have no values for this --dtype.")
    if unknown:
        print(f"{len(unknown)} of the failed were not understood: {_names(unknown)}.")
    return 1 if counts["FAIL"] else 0


def _known(file: str, loaded: Mapping[str, Sequence[Case]]) -> list[Case]:
    """All cases to which those of a file may refer: its own before those of other files, which it may repeat."""
    others = [case for other, cases in loaded.items() if other != file for case in cases]
    given = [*others, *loaded[file]]
    return [*beside(file, given), *given]


def _names(unknown: Sequence[tuple[Result, str]]) -> str:
    """The topics that are not known, and the values that are not in topics that are."""
    known = sorted({f"{r.case} {r.name}".rstrip() for r, topic in unknown if topic in TOPICS})
    others = sorted({topic for _, topic in unknown} - set(TOPICS))
    parts = (("topics", others), ("values", known))
    return "; ".join(f"{what} {', '.join(names)}" for what, names in parts if names)


def _select(cases: Sequence[Case], args: argparse.Namespace) -> list[Case]:
    return [c for c in cases if args.case in (None, c.id) and args.topic in (None, c.topic)]


def _nothing(cases: Sequence[Case], args: argparse.Namespace) -> ConfigError:
    wanted = " and ".join(f"{key} {value!r}" for key, value in (("id", args.case), ("topic", args.topic)) if value)
    known = ", ".join(sorted({c.topic for c in cases}))
    with_what = f" with {wanted}" if wanted else ""
    has, its = ("has", "its") if len(args.files) == 1 else ("have", "their")
    return ConfigError(f"{', '.join(args.files)} {has} no case{with_what}; {its} topics are: {known or 'none'}.")
