"""One simulation of the benchmark, in a process of its own that says when each round is done.

As a program, ``python -m pfedgp.benchmarking.simulated_run KIND FOLDER WORKERS SETTINGS`` prints for each round its
number, the time, and the CPU seconds that the ClientApp has used up to then, where the engine knows them.
"""

import json
import os
import sys
import threading
import time
import warnings
from pathlib import Path

from pfedgp.benchmarking.plain_pfl import PFL, run_plain_pfl
from pfedgp.local.ray_start import RayStart
from pfedgp.local.resources import ENGINES, Resources
from pfedgp.local.simulation import run_simulation
from pfedgp.processes.flower import QUIET
from pfedgp_core.config import Settings
from pfedgp_core.files.json_file import parse_json

__all__ = ["FLOWER", "KINDS"]

FLOWER = "flower"
KINDS = (*ENGINES, FLOWER, PFL)
LOOK = 0.01  # seconds


class _Rounds:
    """Prints the rounds of a run as their lines come to its folder."""

    def __init__(self, folder: Path) -> None:
        self._lines, self._done = folder / "metrics.jsonl", 0
        self._ended = threading.Event()
        self.backend: object = None

    def watch(self, backend: object) -> None:
        """Ask this back end for the clients' seconds."""
        self.backend = backend

    def note(self, t: int) -> None:
        """Print a round."""
        seconds = getattr(self.backend, "client_seconds", None)
        print(json.dumps([t, time.time(), seconds]), flush=True)

    def follow(self) -> None:
        """Look for lines until the run has ended, and once more then."""
        ended = False
        while not ended:
            ended = self._ended.wait(LOOK)
            count = self._lines.read_bytes().count(b"\n") if self._lines.exists() else 0
            for t in range(self._done + 1, count + 1):
                self.note(t)
            self._done = count

    def end(self) -> None:
        """Say that no line comes any more."""
        self._ended.set()


def main(kind: str, folder: str, workers: str, settings_json: str) -> None:
    """Run it."""
    settings, rounds = Settings.from_run_config(parse_json(settings_json)), _Rounds(Path(folder))
    if kind == PFL:
        run_plain_pfl(settings, rounds.note)
        return
    if kind == FLOWER:
        from pfedgp.benchmarking.plain_flower import run_plain_flower

        os.environ.update(QUIET)
        warnings.simplefilter("ignore")
        with RayStart().applied():
            run_plain_flower(settings, int(workers), rounds.note)
        return
    follower = threading.Thread(target=rounds.follow, daemon=True)
    follower.start()
    run_simulation(settings, folder, Resources(int(workers), engine=kind), watch=rounds.watch)
    rounds.end()
    follower.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
