"""Spoilt data of a site: of many random faults of tables, folders and arrays none is accepted and wrong.

See `harness` for how to run it; `scripts/spoilt_data.py COUNT FIRST` tries far more, and others.
"""

import sys
from collections import Counter
from functools import partial
from pathlib import Path

from harness import case, main

from scripts.spoilt_data import KINDS

SEEDS = range(100)  # of each kind, the same in each run: a gate says nothing new of a change by a new draw


def _none_is_wrong(kind: str, folder: Path) -> str:
    outcomes: Counter[str] = Counter()
    for seed in SEEDS:
        place = folder / str(seed)
        place.mkdir()
        faults, outcome = KINDS[kind](seed, place)
        assert outcome != "WRONG", f"seed {seed}: {', '.join(faults)}"
        outcomes[outcome] += 1
    return ", ".join(f"{count} {name}" for name, count in outcomes.most_common())


for each in KINDS:
    case(f"spoilt {each} are read rightly, noted or refused", 120)(partial(_none_is_wrong, each))


if __name__ == "__main__":
    sys.exit(main())
