"""The costs of a simulated round: wall and CPU seconds, of the driver, of all other processes, and of the clients."""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from pfedgp.benchmarking.process_costs import below, cpu_seconds_of, megabytes_of
from pfedgp.benchmarking.simulated_run import KINDS
from pfedgp.local.resources import ENGINES
from pfedgp_core.config import Settings
from pfedgp_core.errors import RunFailedError
from pfedgp_core.files.json_file import parse_json

__all__ = ["CLIENTS", "KINDS", "SimulatedCase", "measure", "shuffled"]

CLIENTS = (20, 100, 500, 2000, 5000)
WARM_ROUNDS = 3
LOOK = 0.01  # seconds
ENDED = "The run of the benchmark ended early."
ROUND_TIMEOUT, STOP_TIMEOUT = 1800.0, 30.0  # seconds


@dataclass(frozen=True)
class SimulatedCase:
    """One simulation to measure.

    Attributes
    ----------
    kind : str
        One of `KINDS`: an engine of ``pfedgp simulate``, Flower's own FedAvg on Flower's own engine, or FedAvg of
        pfl-research, whose one process takes no notice of `workers`.
    clients : int
    rounds : int
        That are measured.
    workers : int
    """

    kind: str
    clients: int
    rounds: int
    workers: int

    def settings(self, images: Path, seed: int) -> Settings:
        """LeNet on the images of a file, two classes a client, five clients a round, and no evaluation between."""
        return Settings(
            dataset="cifar10",
            data_root=str(images),
            clients=self.clients,
            rounds=WARM_ROUNDS + self.rounds + 1,  # the last one is followed by the test of all clients
            clients_per_round=5,
            evaluate_every=WARM_ROUNDS + self.rounds + 1,
            wait_timeout=ROUND_TIMEOUT,
            seed=seed,
        )


def shuffled(cases: Sequence[SimulatedCase], seed: int) -> list[SimulatedCase]:
    """The cases in an order in which no kind has the machine's quiet hours."""
    mixed = list(cases)
    random.Random(seed).shuffle(mixed)  # noqa: S311 (no secret)
    return mixed


def measure(case: SimulatedCase, images: Path, seed: int = 0) -> dict[str, Any]:
    """Run one simulation and return what it has cost, as plain values.

    Parameters
    ----------
    case : SimulatedCase
    images : Path
        File in the form of `pfedgp.benchmarking.simulated_images`.
    seed : int

    Raises
    ------
    RunFailedError
        The run ended early; the text says what it printed last.
    """
    with tempfile.TemporaryDirectory(prefix="pfedgp-bench-") as name:
        folder = Path(name)
        settings = json.dumps(case.settings(images, seed).to_run_config())
        command = [sys.executable, "-P", "-m", "pfedgp.benchmarking.simulated_run"]
        with (
            (folder / "errors").open("w+b") as errors,
            _running([*command, case.kind, str(folder / "run"), str(case.workers), settings], errors) as process,
        ):
            began = time.time()
            wanted = WARM_ROUNDS + case.rounds
            if case.kind in ENGINES:
                rounds = _recorded_rounds(process, folder / "run" / "metrics.jsonl", wanted)
            else:
                rounds = _told_rounds(process, wanted)
            _, ready, _ = next(rounds)
            for _ in range(WARM_ROUNDS - 1):
                next(rounds)
            before, clients_before = _cpu(process.pid), 0.0
            times = list[float]()
            for number, moment, clients in rounds:
                times.append(moment)
                if number == WARM_ROUNDS + 1:
                    # The costs of the first counted round are left out, those of its end are in.
                    before, clients_before = _cpu(process.pid), clients or 0.0
            after, last = _cpu(process.pid), clients
            megabytes = megabytes_of(below(process.pid))
    counted = len(times) - 1
    periods = [b - a for a, b in pairwise(times)]
    low, _, high = quantiles(periods, n=4)
    driver, others = ((after[who] - before[who]) / counted for who in ("driver", "others"))
    client = None if last is None else (last - clients_before) / counted
    return {
        "kind": case.kind,
        "clients": case.clients,
        "workers": case.workers,
        "rounds": counted,
        "rounds_per_s": counted / (times[-1] - times[0]),
        "round_s": median(periods),
        "round_quartiles_s": [low, high],
        "driver_cpu_s": driver,
        "others_cpu_s": others,
        "cpu_s": driver + others,
        "client_cpu_s": client,
        "overhead": None if client is None else (driver + others) / client - 1,
        "start_s": ready - began,
        "start_cpu_s": sum(before.values()),
        "mb": megabytes,
        "load": round(os.getloadavg()[0], 2),
    }


def _cpu(root: int) -> dict[str, float]:
    """CPU seconds so far of a simulation's first process, and of all below it."""
    driver, *others = below(root)
    # What the driver has waited for is in the others' own time, or was before the rounds.
    return {"driver": cpu_seconds_of([driver]), "others": cpu_seconds_of(others)}


Round = tuple[int, float, float | None]  # number, moment and clients' CPU seconds


def _told_rounds(process: "subprocess.Popen[bytes]", last: int) -> Iterator[Round]:
    """Each round as the process tells it, up to the last."""
    while (said := _said(process, "round"))["round"] < last:
        if said["round"]:  # Flower tells of the start, too
            yield said["round"], said["time"], None
    yield said["round"], said["time"], None


def _recorded_rounds(process: "subprocess.Popen[bytes]", lines: Path, last: int) -> Iterator[Round]:
    """Each round as its line comes to a file, up to the last."""
    assert process.stdin is not None
    number = read = 0
    while number < last:
        ended = process.poll() is not None
        with suppress(FileNotFoundError), lines.open("rb") as file:
            file.seek(read)
            new = file.read()
            read += len(new)
            for _ in range(min(new.count(b"\n"), last - number)):
                moment, number = time.time(), number + 1
                with suppress(BrokenPipeError):
                    process.stdin.write(b"\n")
                    process.stdin.flush()
                yield number, moment, _said(process, "clients")["clients"]
        if ended and number < last:
            raise RunFailedError(ENDED)
        time.sleep(LOOK)


def _said(process: "subprocess.Popen[bytes]", about: str) -> dict[str, Any]:
    """The next thing that the process says about this."""
    assert process.stdout is not None
    for line in process.stdout:
        with suppress(ValueError):
            said = parse_json(line)
            if isinstance(said, dict) and about in said:
                return said
    raise RunFailedError(ENDED)


@contextmanager
def _running(command: Sequence[str], errors: Any) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a program until the end of the block, and end it with all below it."""
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
    )
    try:
        yield process
    except RunFailedError as error:
        errors.seek(0)
        said = " ".join(errors.read().decode("utf-8", "replace").split())[-500:]
        raise RunFailedError(f"{error} {said}") from None
    finally:
        started = below(process.pid)
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            for each in reversed(started):
                with suppress(ProcessLookupError):
                    os.kill(each, signal.SIGKILL)
            process.wait()
