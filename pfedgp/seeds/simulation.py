"""``pfedgp simulate --seeds``: the same federation under each seed, as many at a time as there are workers."""

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pfedgp.options import check_simulation
from pfedgp.processes.signals import interrupted
from pfedgp.seeds.run import SeedRun
from pfedgp.seeds.summary import seed_lines, seed_results, write_seeds
from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError, RunFailedError
from pfedgp_core.files.json_file import read_object
from pfedgp_core.files.whole import explained
from pfedgp_core.words import few

__all__ = ["check_seeds", "run_all", "simulate_seeds"]

LOOK = 0.1  # seconds
GRACE = 60.0  # seconds in which runs that are told to stop write their checkpoint


def check_seeds(seeds: Sequence[int]) -> None:
    """Refuse seeds that have no standard deviation, with a ConfigError."""
    if len(seeds) < 2 or len(set(seeds)) < len(seeds):
        raise ConfigError(
            f"--seeds {' '.join(map(str, seeds))}: give two or more, each once, such as --seeds 0 1 2; for one, --seed."
        )


def simulate_seeds(settings: Settings, seeds: Sequence[int], out: Path, workers: int | None) -> None:
    """Run each seed below `out`, go on with what was cut off, and print and keep mean and standard deviation.

    Parameters
    ----------
    settings : Settings
        Of all runs but for the seed.
    seeds : sequence of int
        Two or more, different.
    out : Path
        The folder of all: ``seed-N`` is a run's, and ``seeds.json`` has the results.
    workers : int, optional
        Processes that train clients, of all runs together; default: one a core. Each run has one at least.

    Raises
    ------
    PFedGPError
        A setting or the data cannot be used, a folder holds another run, or a run failed.
    KeyboardInterrupt
        Ctrl-C or SIGTERM came; the same call goes on.
    """
    runs = [SeedRun(replace(settings, seed=seed), out) for seed in seeds]
    for run in runs:
        if not run.begun():
            check_simulation(run.settings, run.path)
    with explained(out):
        out.mkdir(parents=True, exist_ok=True)
    whole = workers or os.cpu_count() or 1
    together = min(whole, len(runs))
    with interrupted():
        run_all([run for run in runs if not run.completed()], together, max(1, whole // together))
    if failed := [run for run in runs if not run.completed()]:
        names = few([f"{run.name} ({run.log})" for run in failed], 5)
        raise RunFailedError(f"{len(failed)} of {len(runs)} runs failed, see their logs: {names}.")
    results = seed_results([read_object(run.path / "summary.json") for run in runs])
    write_seeds(out, seeds, results)
    print("\n".join(["", *seed_lines(seeds, results), "", str(out)]), flush=True)


def run_all(waiting: list[SeedRun], together: int, workers: int) -> None:
    """Run all, so many at a time with so many workers each; however it ends, none of them goes on."""
    running: list[SeedRun] = []
    try:
        while waiting or running:
            while waiting and len(running) < together:
                run = waiting.pop(0)
                run.start(workers)
                print(f"{run.called}: started", flush=True)
                running.append(run)
            time.sleep(LOOK)
            for run in [run for run in running if not run.running()]:
                running.remove(run)
                print(f"{run.called}: {'completed' if run.completed() else 'failed'}", flush=True)
    finally:
        for run in running:
            run.ask_to_stop()
        until = time.monotonic() + GRACE
        for run in running:
            run.stop(max(0.0, until - time.monotonic()))
