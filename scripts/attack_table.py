"""Attacks of sites against defences, as a table in docs/attacks.md: python scripts/attack_table.py."""

import argparse
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

import torch  # noqa: E402

from pfedgp_core.config import GPSettings, Settings  # noqa: E402
from scripts.attacks.federation import ALL, FIRST, Outcome, attacked  # noqa: E402
from scripts.attacks.kinds import ATTACKS  # noqa: E402

__all__ = ["FIVE", "TEN", "Trial", "outcomes"]

PAGE = REPOSITORY / "docs/attacks.md"
START, END = "<!-- table -->", "<!-- end of the table -->"
# Fewer rounds, Gibbs chains and sweeps than by default, for a run in a few seconds; all else is the default.
FEW = GPSettings(train_chains=6, predict_chains=10, sweeps=3, quadrature=16)
FIVE = Settings(clients=5, clients_per_round=5, classes_per_client=4, rounds=30, gp=FEW)
TEN = FIVE.replace(clients=10, clients_per_round=10, aggregation="trimmed-mean", trim_share=0.2)
DEFENCES = {
    "default": FIVE,
    "no bound": FIVE.replace(clip_updates=0.0, max_update_norm=1e12),
    "`median`": FIVE.replace(aggregation="median"),
    "`trimmed-mean`, 0.2": FIVE.replace(aggregation="trimmed-mean", trim_share=0.2),
    "`samples`, forged counts": FIVE.replace(aggregation="samples"),
    "two of ten, `trimmed-mean`, 0.2": TEN,
}


@dataclass(frozen=True)
class Trial:
    """One run of the table; without an attack it is what the others are compared with."""

    settings: Settings
    attack: str = ""
    rounds: str = FIRST

    @property
    def attackers(self) -> tuple[int, ...]:
        """One of five sites, two of ten."""
        return tuple(range(self.settings.clients // 5))

    def run(self) -> Outcome:
        """The run."""
        torch.set_num_threads(1)  # as clients do, so that no sum depends on the machine's cores
        return attacked(self.settings, self.attack, self.attackers, self.rounds)


def outcomes(trials: list[Trial], processes: int) -> Iterator[tuple[Trial, Outcome]]:
    """Run trials side by side; the results come in their order."""
    with ProcessPoolExecutor(processes) as pool:
        yield from zip(trials, pool.map(Trial.run, trials), strict=True)


def all_trials(settings: Settings) -> list[Trial]:
    """A run without an attack, and every attack in one round and in all."""
    return [Trial(settings), *(Trial(settings, attack, rounds) for rounds in (FIRST, ALL) for attack in ATTACKS)]


def table(found: dict[Trial, Outcome]) -> str:
    """The results as a table in Markdown."""
    lines = [
        "| defence | attack | rounds | accuracy % | difference | clipped | refused | backdoor % |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, settings in DEFENCES.items():
        for trial, outcome in found.items():
            if trial.settings != settings:
                continue
            lost = round(outcome.accuracy - found[Trial(settings)].accuracy, 3) + 0.0  # no -0.0
            cells = (
                name,
                trial.attack or "none",
                trial.rounds if trial.attack else "",
                f"{100 * outcome.accuracy:.1f}",
            )
            more = (f"{100 * lost:+.1f}" if trial.attack else "", *_counted(trial, outcome))
            lines.append(f"| {' | '.join((*cells, *more))} |")
    return "\n".join(lines)


def _counted(trial: Trial, outcome: Outcome) -> tuple[str, str, str]:
    """Clipped and refused updates, of the attackers and of the others, and the backdoor's success."""
    wrong = {f"client-{i:02d}" for i in trial.attackers} if trial.attack else set()
    counts = []
    for counter in (outcome.clipped, outcome.refused):
        ours = sum(n for name, n in counter.items() if name in wrong)
        others = sum(counter.values()) - ours
        counts.append(f"{ours} + {others}" if ours or others else "0")
    return counts[0], counts[1], f"{100 * outcome.backdoor:.0f}"


def main() -> None:
    """Run all trials, print the table, and put it into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--print", action="store_true", help="leave docs/attacks.md as it is")
    arguments = parser.parse_args()
    trials = [trial for settings in DEFENCES.values() for trial in all_trials(settings)]
    found = {}
    for trial, outcome in outcomes(trials, arguments.processes):
        found[trial] = outcome
        print(trial.attack or "none", trial.rounds, f"{outcome.accuracy:.3f}", file=sys.stderr, flush=True)
    made = table(found)
    print(made)
    if not arguments.print:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
        after = rest.partition(END)[2]
        PAGE.write_text(f"{before}{START}\n\n{made}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
