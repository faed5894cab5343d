"""Random spoilt data of a site: how many are refused, noted or read rightly, and whether any is accepted and wrong.

    .venv/bin/python scripts/spoilt_data.py [COUNT [FIRST]]

So many of each kind, from a seed on: tables of numbers, tables of texts, dates and gaps, folders of images, and arrays.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.spoilt import arrays, folders, mixed, tables

__all__ = ["KINDS", "judge", "main"]

KINDS: dict[str, Callable[[int, Path], tuple[list[str], str]]] = {
    "tables of numbers": tables.tried,
    "tables with rules": mixed.tried,
    "folders of images": folders.tried,
    "arrays": arrays.tried,
}
OUTCOMES = ("read", "noted", "refused", "WRONG")


def judge(count: int = 200, first: int = 0) -> int:
    """Judge so many of each kind; 1 if any is accepted and wrong."""
    wrong = 0
    for kind, tried in KINDS.items():
        outcomes: Counter[str] = Counter()
        for seed in range(first, first + count):
            with tempfile.TemporaryDirectory() as folder:
                faults, outcome = tried(seed, Path(folder))
            outcomes[outcome] += 1
            if outcome == "WRONG":
                print(f"{kind}, seed {seed}: {', '.join(faults)}")
        print(f"{kind}: " + ", ".join(f"{outcomes[name]} {name}" for name in OUTCOMES))
        wrong += outcomes["WRONG"]
    return int(wrong > 0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("count", type=int, nargs="?", default=200, metavar="COUNT", help="of each kind (default: 200)")
    parser.add_argument("first", type=int, nargs="?", default=0, metavar="FIRST", help="first seed (default: 0)")
    args = parser.parse_args(arguments)
    return judge(args.count, args.first)


if __name__ == "__main__":
    sys.exit(main())
