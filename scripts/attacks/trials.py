"""Runs of the table of attacks, side by side; a file keeps what is done, so that a long table is made in parts."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch

from pfedgp_core.config import Settings
from scripts.attacks.federation import FIRST, Outcome, attacked

__all__ = ["Results", "Trial", "outcomes"]


@dataclass(frozen=True)
class Trial:
    """One run of the table; without an attack it is what the others are compared with."""

    settings: Settings
    attack: str = ""
    rounds: str = FIRST

    @property
    def attackers(self) -> tuple[int, ...]:
        """Two of ten sites, one of five or fewer."""
        return tuple(range(max(1, self.settings.clients // 5)))

    @property
    def key(self) -> str:
        """What tells it from all others."""
        return json.dumps([self.settings.to_run_config(), self.attack, self.rounds], sort_keys=True)

    def run(self) -> Outcome:
        """The run."""
        torch.set_num_threads(1)  # as clients do, so that no sum depends on the machine's cores
        return attacked(self.settings, self.attack, self.attackers, self.rounds)


def outcomes(trials: list[Trial], processes: int) -> Iterator[tuple[Trial, Outcome]]:
    """Run trials side by side; the results come in their order."""
    if processes == 1:
        yield from ((trial, trial.run()) for trial in trials)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from zip(trials, pool.map(Trial.run, trials), strict=True)


class Results:
    """What trials gave, a line of JSON each.

    Parameters
    ----------
    file : Path or None
        Is read, and grows; None keeps nothing. Of the same code alone: a changed product needs a new file.
    """

    def __init__(self, file: Path | None) -> None:
        self._file, self._known = file, {}
        if file is not None and file.exists():
            for line in file.read_text(encoding="utf-8").splitlines():
                key, outcome = json.loads(line)
                counts = {name: Counter(outcome.pop(name)) for name in ("clipped", "refused")}
                self._known[key] = Outcome(**outcome, **counts)

    def __contains__(self, trial: Trial) -> bool:
        return trial.key in self._known

    def of(self, trials: Iterable[Trial], processes: int = os.cpu_count() or 1) -> Iterator[tuple[Trial, Outcome]]:
        """Every trial with its outcome; those that are not known yet are run, and come last."""
        missing = []
        for trial in trials:
            if trial.key in self._known:
                yield trial, self._known[trial.key]
            else:
                missing.append(trial)
        for trial, outcome in outcomes(missing, processes):
            self._known[trial.key] = outcome
            if self._file is not None:
                with self._file.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([trial.key, vars(outcome)]) + "\n")
            yield trial, outcome
