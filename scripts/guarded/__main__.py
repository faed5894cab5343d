"""All sections in one run: ``python scripts/guarded [--jobs N] [--untested] [--until SECONDS] [WORD ...]``.

The cases of all scripts of this folder, each with its section in its line; see `harness` for what a case is, for words
and for exit codes. Of several jobs the longest cases come first.
"""

import argparse
import importlib.util
import os
import sys
from pathlib import Path

from harness import Trial, declared, tried

FOLDER = Path(__file__).resolve().parent
SECTIONS = sorted(path for path in FOLDER.glob("*.py") if path.stem not in ("harness", "__main__"))


def cases() -> list[Trial]:
    """The cases of all sections, in the order in which they are written."""
    found = []
    for path in SECTIONS:
        spec = importlib.util.spec_from_file_location(f"guarded_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
        found += declared(path, path.stem)
    return found


def main() -> int:
    """Run them; the exit code."""
    parser = argparse.ArgumentParser(description="Attacks and bad days, a line a case.")
    parser.add_argument("words", nargs="*", metavar="WORD", help="cases whose names contain one of these")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="cases at a time (default: 1)")
    parser.add_argument(
        "--untested",
        action="store_true",
        help="without those that are tests of the repository, where make test-all runs",
    )
    parser.add_argument(
        "--until", type=float, metavar="SECONDS", help="Unix time: cases that would end later are left out and named"
    )
    args = parser.parse_args()
    environment = dict(os.environ)  # what is loaded for the sections' names sets variables of its own
    trials = [trial for trial in cases() if not (args.untested and trial.case.tests)]
    if args.jobs > 1:
        trials.sort(key=lambda trial: -trial.case.seconds)
    return tried(trials, args.words, args.jobs, environment, args.until)


if __name__ == "__main__":
    sys.exit(main())
