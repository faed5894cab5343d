"""Attacks of sites against defences, as tables in docs/attacks.md.

    python scripts/attack_table.py                                every table
    python scripts/attack_table.py --part pfedgp --results FILE   one of them; runs that FILE has are not run again
    python scripts/attack_table.py --known --results FILE         what FILE has, without any run

`scripts.attacks.plan` has the parts, `scripts.attacks.kinds` the attacks.
"""

import argparse
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

from pfedgp_core.metrics.summary import find_metric  # noqa: E402
from pfedgp_core.metrics.task_report import task_report  # noqa: E402
from scripts.attacks.federation import FIRST, Outcome  # noqa: E402
from scripts.attacks.plan import PARTS, Part  # noqa: E402
from scripts.attacks.trials import Results, Trial  # noqa: E402

__all__ = ["main", "table"]

PAGE = REPOSITORY / "docs/attacks.md"


def table(part: Part, found: Mapping[Trial, Outcome]) -> str:
    """The results of a part as a table in Markdown; a row or column without any run is left out."""
    columns = [column for column in part.columns if any(trial in found for trial in part.trials(column, "", FIRST))]
    lines = [f"| attack | rounds | {' | '.join(columns)} |", f"|---|---|{'---|' * len(columns)}"]
    for attack, rounds in part.attacks:
        cells = [_cell(part, column, attack, rounds, found) for column in columns]
        if not any(cells):
            continue
        lines.append(f"| {attack or 'none'} | {rounds if attack else ''} | {' | '.join(cells)} |")
    for what, told in (("of a site without an attack, clipped", _clipped), ("backdoor in every round", _fooled)):
        cells = [told(part, column, found) for column in columns]
        if any(cells):
            lines.append(f"| {what} | | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(part: Part, column: str, attack: str, rounds: str, found: Mapping[Trial, Outcome]) -> str:
    """The score without an attack; with one the difference that it makes, the mean over seeds and the worst."""
    trials, plain = part.trials(column, attack, rounds), part.trials(column, *part.attacks[0])
    if any(trial not in found for trial in (*trials, *plain)):
        return ""
    before, after = ([100 * found[trial].score for trial in each] for each in (plain, trials))
    if not attack:
        return f"{fmean(before):.1f}"
    score = find_metric(task_report(part.columns[column].task).score)
    assert score is not None
    gained = [score.worth(b) - score.worth(a) for a, b in zip(before, after, strict=True)]
    told = f"{fmean(gained) + 0.0:+.1f}"
    return told if len(gained) == 1 else f"{told} ({min(gained) + 0.0:+.1f})"


def _clipped(part: Part, column: str, found: Mapping[Trial, Outcome]) -> str:
    """Updates that were shortened where nobody attacks, of all."""
    runs = [found[trial] for trial in part.trials(column, *part.attacks[0]) if trial in found]
    return f"{sum(run.clipped.total() for run in runs)} of {sum(run.updates for run in runs)}" if runs else ""


def _fooled(part: Part, column: str, found: Mapping[Trial, Outcome]) -> str:
    """How often the backdoor opens, where it is trained in the most rounds."""
    runs = [found[trial] for trial in part.trials(column, "backdoor", part.rounds[-1]) if trial in found]
    return f"{100 * fmean(run.backdoor for run in runs):.0f} %" if runs else ""


def main() -> None:
    """Run the trials, print the tables, and put them into the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS), help="tables (default: all)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seeds", nargs="+", type=int, help="in the place of those of each table")
    parser.add_argument("--known", action="store_true", help="run nothing; rows that are missing are left out")
    parser.add_argument("--results", type=Path, help="file that keeps what each run gave")
    parser.add_argument("--print", action="store_true", help="leave docs/attacks.md as it is")
    arguments = parser.parse_args()
    results = Results(arguments.results)
    for name in arguments.part:
        part, found = PARTS[name], {}
        if arguments.seeds:
            part = replace(part, seeds=tuple(arguments.seeds))
        trials = [trial for trial in part.all_trials() if not arguments.known or trial in results]
        for trial, outcome in results.of(trials, arguments.processes):
            found[trial] = outcome
            print(name, trial.attack or "none", trial.rounds, f"{outcome.score:.3f}", file=sys.stderr, flush=True)
        made = table(part, found)
        print(f"{name}\n\n{made}\n")
        if found and not arguments.print:
            put(name, made)


def put(name: str, made: str, page: Path = PAGE) -> None:
    """Replace a table of the page."""
    start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, found, rest = page.read_text(encoding="utf-8").partition(start)
    if not found or end not in rest:
        raise SystemExit(f"{page} has no place for {name}: write {start} and {end} there.")
    page.write_text(f"{before}{start}\n\n{made}\n\n{end}{rest.partition(end)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
