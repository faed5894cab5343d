"""Runs a sweep: a folder for each candidate with a run for each seed, as many at a time as there are workers."""

import hashlib
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pfedgp.options import check_simulation
from pfedgp.processes.signals import interrupted
from pfedgp.seeds.run import SeedRun
from pfedgp.seeds.simulation import run_all
from pfedgp.sweeping.choices import Candidate, Listed, Range, as_assignments, grid
from pfedgp.sweeping.results import Tried, score_key, sweep_lines, write_sweep
from pfedgp.sweeping.search import search
from pfedgp_core.config import Settings
from pfedgp_core.errors import RunFailedError
from pfedgp_core.files.json_file import read_object
from pfedgp_core.files.whole import explained
from pfedgp_core.words import few

__all__ = ["Sweep", "folder_name"]

LONGEST = 80  # characters of a folder's name


def folder_name(candidate: Candidate) -> str:
    """The folder of a candidate, the same whatever else is tried."""
    text = ",".join(as_assignments(candidate))
    plain = re.sub(r"[^A-Za-z0-9=,.+-]", "_", text)
    if plain == text and len(text) <= LONGEST:
        return text
    return f"{plain[:LONGEST]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


@dataclass
class Sweep:
    """A sweep.

    Attributes
    ----------
    out : Path
        Takes a folder for each candidate, ``sweep.csv`` and ``sweep.json``.
    settings : callable
        The settings of a candidate.
    seeds : sequence of int
        Each candidate is run under each.
    workers : int, optional
        Processes that train clients, of all runs together; default: one a core.
    """

    out: Path
    settings: Callable[[Candidate], Settings]
    seeds: Sequence[int]
    workers: int | None = None

    def try_all(self, over: Sequence[Listed]) -> None:
        """Run all combinations.

        Raises
        ------
        PFedGPError
            A combination cannot be run, a folder holds another run, or a run failed.
        KeyboardInterrupt
            Ctrl-C or SIGTERM came; the same call goes on.
        """
        candidates = grid(over)
        groups = [self._runs(candidate) for candidate in candidates]
        self._run([run for runs in groups for run in runs])
        self._conclude([self._tried(*pair) for pair in zip(candidates, groups, strict=True)])

    def search(self, over: Sequence[Listed], ranges: Sequence[Range], trials: int, seed: int) -> None:
        """Run so many candidates that a search proposes, one after the other; see `try_all`."""
        tried: dict[str, Tried] = {}

        def score(candidate: Candidate) -> float | None:
            runs = self._runs(candidate)
            self._run(runs)
            found = tried[folder_name(candidate)] = self._tried(candidate, runs)
            if not found.whole:
                return None
            key, larger = score_key(found.summaries[0])
            mean = found.mean(key)
            return mean if mean is None or larger else -mean

        search(over, ranges, trials, seed, score)
        self._conclude(list(tried.values()))

    def _runs(self, candidate: Candidate) -> list[SeedRun]:
        """The candidate's runs, each checked before the first starts."""
        folder, settings = self.out / folder_name(candidate), self.settings(candidate)
        runs = [SeedRun(replace(settings, seed=seed), folder, f"{folder.name}/") for seed in self.seeds]
        for run in runs:
            if not run.begun():
                check_simulation(run.settings, run.path)
        return runs

    def _run(self, runs: Sequence[SeedRun]) -> None:
        waiting = [run for run in runs if not run.completed()]
        for run in waiting:
            with explained(run.above):
                run.above.mkdir(parents=True, exist_ok=True)
        if waiting:
            whole = self.workers or os.cpu_count() or 1
            together = min(whole, len(waiting))
            with interrupted():
                run_all(waiting, together, max(1, whole // together))

    def _tried(self, candidate: Candidate, runs: Sequence[SeedRun]) -> Tried:
        summaries = tuple(read_object(run.path / "summary.json") for run in runs if run.completed())
        return Tried(candidate, folder_name(candidate), summaries, len(runs))

    def _conclude(self, tried: Sequence[Tried]) -> None:
        """Write and print what was found; RunFailedError where a run failed."""
        failed = [each for each in tried if not each.whole]
        if summaries := [summary for each in tried for summary in each.summaries]:
            key, larger = score_key(summaries[0])
            write_sweep(self.out, tried, key, larger)
            print("\n".join(["", *sweep_lines(tried, key, larger), "", str(self.out)]), flush=True)
        if failed:
            names = few([str(self.out / each.folder) for each in failed], 5)
            raise RunFailedError(
                f"{len(failed)} of {len(tried)} candidates have runs that failed, see the logs in {names}."
            )
