"""One simulation of the benchmark, in a process of its own.

As a program, ``python -m pfedgp.benchmarking.simulated_run KIND FOLDER WORKERS SETTINGS`` runs a simulation. Rounds
of an engine of ours are lines of ``FOLDER/metrics.jsonl``, for which another process looks, because looking costs as
much CPU as a round. For each line of the standard input such a run prints the CPU seconds that the ClientApp has used
up to then, where the engine knows them; its own words go to the standard error, so that they break no answer. The
others print each round's number and the time.
"""

import json
import os
import sys
import threading
import time
import warnings

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


class _Seconds:
    """Prints the CPU seconds of a back end's clients for each line that comes; it sleeps until then."""

    def __init__(self) -> None:
        self._backend: object = None
        self._answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def watch(self, backend: object) -> None:
        """Ask this back end."""
        self._backend = backend

    def answer(self) -> None:
        """Answer until no line comes any more."""
        for _ in sys.stdin:
            answer = {"clients": getattr(self._backend, "client_seconds", None)}
            print(json.dumps(answer), file=self._answers, flush=True)


def _note(t: int) -> None:
    """Print a round and the time."""
    print(json.dumps({"round": t, "time": time.time()}), flush=True)


def main(kind: str, folder: str, workers: str, settings_json: str) -> None:
    """Run it."""
    settings = Settings.from_run_config(parse_json(settings_json))
    if kind == PFL:
        run_plain_pfl(settings, _note)
        return
    if kind == FLOWER:
        from pfedgp.benchmarking.plain_flower import run_plain_flower

        os.environ.update(QUIET)
        warnings.simplefilter("ignore")
        with RayStart().applied():
            run_plain_flower(settings, int(workers), _note)
        return
    seconds = _Seconds()
    threading.Thread(target=seconds.answer, daemon=True).start()
    run_simulation(settings, folder, Resources(int(workers), engine=kind), watch=seconds.watch)


if __name__ == "__main__":
    main(*sys.argv[1:])
