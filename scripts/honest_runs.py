"""What the bound on single clients costs where nobody attacks, as a table in docs/attacks.md.

    python scripts/honest_runs.py                      digits
    python scripts/honest_runs.py --data-root FILE     and CIFAR-10 with 500 clients, from that file or folder

Two runs of each seed, one with ``clip-updates`` = 0.
"""

import argparse
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

from pfedgp_core.config import Settings  # noqa: E402
from scripts.attack_table import put  # noqa: E402
from scripts.attacks.federation import Outcome  # noqa: E402
from scripts.attacks.trials import Results, Trial  # noqa: E402

__all__ = ["HonestRun", "comparisons", "main", "table"]

SEEDS = (0, 1, 2)
NONE = {"clip_updates": 0.0}


@dataclass(frozen=True)
class HonestRun(Trial):
    """A run in which nobody attacks, measured on all clients."""

    @property
    def attackers(self) -> tuple[int, ...]:
        """None."""
        return ()


@dataclass(frozen=True)
class Comparison:
    """A row: the same runs with the bound and without."""

    settings: Settings
    seeds: tuple[int, ...] = SEEDS

    def runs(self, **changed: float) -> list[HonestRun]:
        """A run for each seed."""
        return [HonestRun(self.settings.replace(seed=seed, **changed)) for seed in self.seeds]

    def all_runs(self) -> list[HonestRun]:
        """Those without the bound, then those with it."""
        return [*self.runs(**NONE), *self.runs()]


def comparisons(data_root: str = "") -> dict[str, Comparison]:
    """The rows by name; CIFAR-10 where its data are given."""
    digits = Settings()
    rows = {
        "digits, 20 clients, 2 classes each": Comparison(digits),
        "digits, 20 clients, Dirichlet .1": Comparison(digits.replace(partition="dirichlet")),
        "digits, 2 clients, 5 classes each": Comparison(
            digits.replace(clients=2, clients_per_round=2, classes_per_client=5)
        ),
        "digits, 20 clients, 2 classes each, `fedavg`": Comparison(digits.replace(method="fedavg")),
        "digits, 20 clients, 2 classes each, `fedper`": Comparison(digits.replace(method="fedper")),
    }
    if data_root:
        cifar = digits.replace(dataset="cifar10", clients=500, data_root=data_root)
        rows["CIFAR-10, 500 clients, 2 classes each"] = Comparison(cifar, seeds=(0,))
    return rows


def table(rows: Mapping[str, Comparison], found: Mapping[Trial, Outcome]) -> str:
    """The results in Markdown."""
    lines = [
        "| data | rounds | seeds | accuracy % without | with | clipped | refused | largest update, usual norms |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        without, bound = ([found[run] for run in runs] for runs in (row.runs(**NONE), row.runs()))
        accuracy = [f"{100 * fmean(run.score for run in runs):.2f}" for runs in (without, bound)]
        clipped = f"{sum(run.clipped.total() for run in bound)} of {sum(run.updates for run in bound)}"
        refused = str(sum(run.refused.total() for run in bound))
        cells = (str(row.settings.rounds), str(len(row.seeds)), *accuracy, clipped, refused)
        lines.append(f"| {name} | {' | '.join(cells)} | {max(run.largest for run in bound):.1f} |")
    return "\n".join(lines)


def main() -> None:
    """Run all, print the table, and put it into the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data-root", default="", help="of CIFAR-10; without it, that row is left out")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seeds", nargs="+", type=int, help="in the place of 0, 1 and 2, and 0 for CIFAR-10")
    parser.add_argument("--known", action="store_true", help="run nothing; rows that are missing are left out")
    parser.add_argument("--results", type=Path, help="file that keeps what each run gave")
    parser.add_argument("--print", action="store_true", help="leave docs/attacks.md as it is")
    arguments = parser.parse_args()
    rows = comparisons(arguments.data_root)
    if arguments.seeds:
        rows = {name: replace(row, seeds=tuple(arguments.seeds)) for name, row in rows.items()}
    results = Results(arguments.results)
    if arguments.known:
        rows = {name: row for name, row in rows.items() if all(run in results for run in row.all_runs())}
    runs = [run for row in rows.values() for run in row.all_runs()]
    found = {}
    for run, outcome in results.of(runs, arguments.processes):
        found[run] = outcome
        print(run.settings.dataset, run.settings.seed, f"{outcome.score:.4f}", file=sys.stderr, flush=True)
    made = table(rows, found)
    print(made)
    if not arguments.print:
        put("honest runs", made)


if __name__ == "__main__":
    main()
