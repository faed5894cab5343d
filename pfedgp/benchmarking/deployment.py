"""The costs of a deployed round with next to no computation: seconds, CPU, memory.

Server and sites run on this machine, started by the product's own verbs, with TLS and authentication. Every round is
followed by the evaluation of its model on all sites. Beside this program's sites runs Flower's own SuperNode, which
starts a process for every message and looks for work every few seconds.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import numpy as np

from pfedgp.benchmarking.process_costs import below, cpu_seconds_of, megabytes_of
from pfedgp.processes.flower import free_ports
from pfedgp_core.errors import RunFailedError

__all__ = ["DeployedCase", "Deployment", "measure"]

IDLE_SECONDS = 30.0
STOCK_ROUNDS = 8
WARM_ROUNDS = 3
SAMPLES_PER_CLASS = 8
START_TIMEOUT, STOP_TIMEOUT = 180.0, 30.0
LOOK = 0.02


@dataclass(frozen=True)
class DeployedCase:
    """One deployment to measure.

    Parameters
    ----------
    sites : int
    stock : bool
        Flower's own SuperNodes.
    database : bool
        The server keeps its state on disk, and so survives a crash.
    network : str
        As the setting; its size is that of the messages.
    """

    sites: int
    stock: bool
    database: bool
    network: str = "lenet"

    @property
    def path(self) -> str:
        """How messages reach the app."""
        return "stock" if self.stock else "fast"


def measure(case: DeployedCase, rounds: int, idle_seconds: float = IDLE_SECONDS) -> dict[str, Any]:
    """Run one deployment and return what it has cost, as plain values.

    Parameters
    ----------
    case : DeployedCase
    rounds : int
        Of training; a stock deployment runs at most `STOCK_ROUNDS`.
    idle_seconds : float
        How long the sites wait, connected and measured, before the run.

    Raises
    ------
    RunFailedError
        A process did not start, or the run failed; the text says what it printed last.
    """
    rounds = min(rounds, STOCK_ROUNDS) if case.stock else rounds
    with tempfile.TemporaryDirectory(prefix="pfedgp-bench-") as name, ExitStack() as stack:
        bench = Deployment(Path(name), case, stack)
        server, sites = bench.server(), bench.sites()
        trees: dict[str, Callable[[], list[int]]] = {
            "server": lambda: below(server),
            "sites": lambda: [p for site in sites for p in below(site)],
        }
        before = {who: cpu_seconds_of(tree()) for who, tree in trees.items()}
        time.sleep(idle_seconds)
        idle = {who: (cpu_seconds_of(tree()) - before[who]) / idle_seconds for who, tree in trees.items()}
        times, cpu, megabytes = bench.run(rounds, trees)
    # The first rounds pay for what stays open and cached afterwards.
    periods = [b - a for a, b in pairwise(times)]
    low, _, high = quantiles(periods, n=4)
    messages = len(periods) * case.sites
    return {
        "sites": case.sites,
        "path": case.path,
        "network": case.network,
        "database": case.database,
        "rounds": len(periods),
        "round_s": median(periods),
        "round_quartiles_s": [low, high],
        "site_cpu_s_per_message": cpu["sites"] / messages,
        "server_cpu_s_per_message": cpu["server"] / messages,
        "idle_site_core": idle["sites"] / case.sites,
        "idle_server_core": idle["server"],
        "site_mb": megabytes["sites"] / case.sites,
        "server_mb": megabytes["server"],
        "load": round(os.getloadavg()[0], 2),
    }


class Deployment:
    """The processes of one case; `stack` ends them."""

    def __init__(self, folder: Path, case: DeployedCase, stack: ExitStack) -> None:
        self.folder, self.case, self.stack = folder, case, stack
        self.fleet, self.control = free_ports(2)
        self.names = [f"site-{number}" for number in range(1, case.sites + 1)]
        self._verb(
            "certs", "--san", "127.0.0.1", "--client-names", *self.names, "--make-keys", "--out", str(folder / "certs")
        )

    def server(self) -> int:
        """Start the server and return its process id."""
        process = self._start(
            "server",
            *("server", "--certs", str(self.folder / "certs"), "--state", str(self.folder / "state")),
            *("--fleet-address", f"127.0.0.1:{self.fleet}", "--control-address", f"127.0.0.1:{self.control}"),
            *([] if self.case.database else ["--no-database"]),
        )
        self._await("server", process, lambda: "registered " in self._said("server"))
        return process.pid

    def sites(self) -> list[int]:
        """Start the sites and return their process ids once all are connected and have loaded their app."""
        processes = []
        for number, name in enumerate(self.names):
            data = self.folder / f"{name}.npz"
            write_samples(data, number)
            processes.append(
                self._start(
                    name,
                    *("client", "--name", name, "--superlink", f"127.0.0.1:{self.fleet}", "--device", "cpu"),
                    *("--ca", str(self.folder / "certs" / "ca.crt")),
                    *("--key", str(self.folder / "certs" / "clients" / name)),
                    *("--data", str(data), "--state", str(self.folder / name)),
                    *(["--stock"] if self.case.stock else []),
                )
            )
        for name, process in zip(self.names, processes, strict=True):
            self._await(name, process, lambda name=name: "Connected to" in self._said(name))  # type: ignore[misc]
        ids = [process.pid for process in processes]
        _settle(lambda: [p for site in ids for p in below(site)])
        return ids

    def run(
        self, rounds: int, trees: dict[str, Callable[[], list[int]]]
    ) -> tuple[list[float], dict[str, float], dict[str, float]]:
        """Train; return when rounds ended, CPU seconds between the first and the last of these, and memory then."""
        # The line of a round is written when the exchange of the next one, with which its evaluation comes, is over;
        # that of the last round has an exchange of its own and is left out.
        lines = self.folder / "state" / "runs" / "bench" / "metrics.jsonl"
        process = self._start(
            "run",
            *("run", "--preset", "zero-mean", "--state", str(self.folder / "state"), "--out", str(lines.parent)),
            *("--rounds", str(rounds + WARM_ROUNDS + 2), "--clients-per-round", str(self.case.sites)),
            *("--set", f"min-clients={self.case.sites}", "--set", "evaluate-every=1", "--network", self.case.network),
            *("--set", "personalise=false", "--set", f"wait-timeout={START_TIMEOUT:g}"),
        )
        times: list[float] = []
        seen, cpu, megabytes = 0, {}, {}
        while seen < rounds + WARM_ROUNDS + 1:
            if process.poll() is not None:
                raise RunFailedError(f"The run of the benchmark ended early: {self._tail('run')}")
            count, written = _lines(lines)
            if count > seen:
                seen = count
                if seen >= WARM_ROUNDS:
                    times.append(written)
                if seen == WARM_ROUNDS:
                    cpu = {who: cpu_seconds_of(tree()) for who, tree in trees.items()}
            time.sleep(LOOK)
        cpu = {who: cpu_seconds_of(tree()) - cpu[who] for who, tree in trees.items()}
        megabytes = {who: megabytes_of(tree()) for who, tree in trees.items()}
        if process.wait(START_TIMEOUT):
            raise RunFailedError(f"The run of the benchmark failed: {self._tail('run')}")
        return times, cpu, megabytes

    def _verb(self, *arguments: str) -> None:
        done = subprocess.run([*_PROGRAM, *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RunFailedError(f"pfedgp {arguments[0]} failed: {' '.join(done.stderr.split())[-500:]}")

    def _start(self, name: str, *arguments: str) -> "subprocess.Popen[bytes]":
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [*_PROGRAM, *arguments],
                env=os.environ | {"PYTHONUNBUFFERED": "1"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.stack.enter_context(_ending(process))
        return process

    def _await(self, name: str, process: "subprocess.Popen[bytes]", ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        while not ready():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RunFailedError(f"The {name} of the benchmark did not start: {self._tail(name)}")
            time.sleep(0.1)

    def _said(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def _tail(self, name: str) -> str:
        return " | ".join(self._said(name).split("\n"))[-800:].strip(" |") or "it printed nothing"


_PROGRAM = (sys.executable, "-P", "-m", "pfedgp")


def write_samples(path: Path, seed: int) -> None:
    """Write a few samples of two classes, 3 x 32 x 32 values of noise around a colour each."""
    generator = np.random.default_rng(seed)
    labels = np.repeat(["dark", "bright"], SAMPLES_PER_CLASS)
    levels = np.where(labels == "dark", 80, 170)[:, None, None, None]
    inputs = levels + generator.integers(-60, 60, size=(len(labels), 3, 32, 32))
    np.savez(path, inputs=inputs.astype(np.uint8), labels=labels)


def _lines(path: Path) -> tuple[int, float]:
    """Number of lines of a file, and when the last one was written."""
    try:
        return path.read_bytes().count(b"\n"), path.stat().st_mtime_ns / 1e9
    except OSError:
        return 0, 0.0


def _settle(tree: Callable[[], list[int]], quiet: float = 3.0) -> None:
    """Wait until processes that start up are done with it: less than a twentieth of a core each, for some seconds."""
    deadline = time.monotonic() + START_TIMEOUT
    while time.monotonic() < deadline:
        processes = tree()
        before = cpu_seconds_of(processes)
        time.sleep(quiet)
        if tree() == processes and cpu_seconds_of(processes) - before < 0.05 * quiet * len(processes):
            return


@contextmanager
def _ending(process: "subprocess.Popen[bytes]") -> Iterator[None]:
    """End a process at the end of the block, in order where it can be."""
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            for each in reversed(below(process.pid)):
                with suppress(ProcessLookupError):
                    os.kill(each, 9)
            process.wait()
