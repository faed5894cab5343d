"""What a server costs with many sites: mock sites speak its protocol, with keys and TLS, and compute nothing.

    python scripts/fleet_load.py                        # 2, 20, 100, 500 and 1000 sites: about an hour on two cores
    python scripts/fleet_load.py --sites 20 --rounds 3  # any of them
    python scripts/fleet_load.py --sites 100 --no-pace  # sites that look as often as those of a small federation

For each number of sites: CPU and memory of the server (SuperLink, SuperExec, server app, supervisor) while all
sites are connected and idle, in the greeting of all, in rounds of at most 50 of them with LeNet's vector of 481 kB,
in the evaluation of the final model on all, and in its publication to all. CPU seconds are of all the server's
processes.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from pfedgp.benchmarking.process_costs import below, cpu_seconds_of, megabytes_of
from pfedgp.processes.flower import free_ports

SCRIPTS = Path(__file__).resolve().parent
PER_ROUND = 50


class Load:
    """A server with mock sites; what is started ends with the stack."""

    def __init__(self, folder: Path, sites: int, stack: ExitStack, paced: bool) -> None:
        self.folder, self.sites, self.stack = folder, sites, stack
        self.fleet, self.control = free_ports(2)
        self.names = [f"site-{i:04d}" for i in range(sites)]
        self.environment = os.environ | {"PYTHONPATH": str(SCRIPTS)} | ({} if paced else {"MOCK_FLEET_UNPACED": "1"})
        self.calls: dict[int, tuple[int, int]] = {}
        self.server = 0

    def start(self) -> None:
        """Make the keys, start the server, and connect all sites."""
        certs = self.folder / "certs"
        self._whole("certs", "--san", "127.0.0.1", "--client-names", *self.names, "--make-keys", "--out", str(certs))
        server = self._verb(
            *("server", "--certs", str(certs), "--state", str(self.folder / "state")),
            *("--fleet-address", f"127.0.0.1:{self.fleet}", "--control-address", f"127.0.0.1:{self.control}"),
            *("--max-connections", str(self.sites + 100)),
        )
        self.server = server.pid
        assert server.stdout is not None
        for line in server.stdout:
            if "registered " in line:
                break
        threading.Thread(target=_drain, args=(server.stdout,), daemon=True).start()
        each = 250
        ready = [self._mock(first, min(each, self.sites - first)) for first in range(0, self.sites, each)]
        for event in ready:
            event.wait(600)

    def run(self, rounds: int) -> dict[str, Any]:
        """One federation of all sites; seconds and CPU between the lines of its record."""
        out = self.folder / "run"
        settings = {
            "rounds": rounds,
            "min-clients": self.sites,
            "clients-per-round": min(PER_ROUND, self.sites),
            "evaluate-every": 1000,
            "personalise": "false",
            "wait-timeout": 1800,
        }
        assignments = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        before, began = self.cpu(), time.monotonic()
        run = self._verb("run", "--state", str(self.folder / "state"), "--out", str(out), *assignments)
        threading.Thread(target=_drain, args=(run.stdout,), daemon=True).start()
        marks, megabytes = [(began, before)], 0.0
        while run.poll() is None:
            lines = _lines(out / "metrics.jsonl")
            if lines > len(marks) - 1:
                marks += [(time.monotonic(), self.cpu())] * (lines - len(marks) + 1)
                megabytes = max(megabytes, self.megabytes())
            time.sleep(0.1)
        if run.returncode:
            said = (self.folder / "output.log").read_text()[-2000:]
            raise SystemExit(f"the run with {self.sites} sites ended with {run.returncode}: {said}")
        marks.append((time.monotonic(), self.cpu()))
        pairs = list(pairwise(marks[1:-1]))  # of the ends of two rounds
        seconds, cpu = ([after[i] - before[i] for before, after in pairs] for i in (0, 1))
        summary = json.loads((out / "summary.json").read_text())
        return {
            "greeting_s": marks[1][0] - began,
            "greeting_cpu_s": marks[1][1] - before,
            "round_s": statistics.median(seconds),
            "round_cpu_s": statistics.median(cpu),
            "message_cpu_s": statistics.median(cpu) / min(PER_ROUND, self.sites),
            "final_s": marks[-1][0] - marks[-2][0],
            "final_cpu_s": marks[-1][1] - marks[-2][1],
            "run_mb": megabytes,
            "status": summary.get("status", ""),
        }

    def publish(self) -> dict[str, float]:
        """The run's model to all sites: seconds and CPU from the command to the last answer."""
        before, began = self.cpu(), time.monotonic()
        options = ("--publish", str(self.folder / "run" / "best"), "--out", str(self.folder / "published"))
        least = ("--set", f"min-results={self.sites}", "--set", f"clients-per-round={self.sites}")
        self._whole("run", "--state", str(self.folder / "state"), *options, *least)
        return {"publish_s": time.monotonic() - began, "publish_cpu_s": self.cpu() - before}

    def _whole(self, *arguments: str) -> None:
        process = self._verb(*arguments)
        _drain(process.stdout)
        if process.wait():
            said = (self.folder / "output.log").read_text()[-2000:]
            raise SystemExit(f"pfedgp {arguments[0]} with {self.sites} sites ended with {process.returncode}: {said}")

    def idle(self, seconds: float) -> dict[str, float]:
        """CPU of the server as a share of a core, its memory, and the calls a second, of sites without work."""
        before, calls = self.cpu(), sum(done for done, _ in self.calls.values())
        time.sleep(seconds)
        made = sum(done for done, _ in self.calls.values()) - calls
        return {
            "idle_core": (self.cpu() - before) / seconds,
            "idle_mb": self.megabytes(),
            "idle_calls_s": made / seconds,
        }

    def cpu(self) -> float:
        """CPU seconds of the server so far."""
        return cpu_seconds_of(below(self.server))

    def megabytes(self) -> float:
        """Memory of the server."""
        return megabytes_of(below(self.server))

    def _mock(self, first: int, count: int) -> threading.Event:
        connected = threading.Event()
        argv = [sys.executable, "-m", "mock_fleet.process", f"127.0.0.1:{self.fleet}", str(self.folder / "certs")]
        process = self.stack.enter_context(
            subprocess.Popen([*argv, str(first), str(count)], stdout=subprocess.PIPE, text=True, env=self.environment)
        )
        self.stack.callback(process.kill)

        def listen(stream: IO[str]) -> None:
            for line in stream:
                if line.startswith("connected"):
                    connected.set()
                else:
                    done, answered = line.split()
                    self.calls[first] = int(done), int(answered)

        assert process.stdout is not None
        threading.Thread(target=listen, args=(process.stdout,), daemon=True).start()
        return connected

    def _verb(self, *arguments: str) -> subprocess.Popen[str]:
        with (self.folder / "output.log").open("a") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "pfedgp", *arguments], stdout=subprocess.PIPE, stderr=log, text=True
            )
        self.stack.callback(process.wait, 60)
        self.stack.callback(process.terminate)
        return process


def _drain(stream: IO[str] | None) -> None:
    for _ in stream or ():
        pass


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def measure(sites: int, rounds: int, idle: float, paced: bool) -> dict[str, Any]:
    """All costs of one number of sites."""
    with tempfile.TemporaryDirectory(prefix="pfedgp-load-", ignore_cleanup_errors=True) as name, ExitStack() as stack:
        load = Load(Path(name), sites, stack, paced)
        load.start()
        time.sleep(5)
        found = {"sites": sites, **load.idle(idle), **(load.run(rounds) | load.publish() if rounds else {})}
        return {**found, "load": round(os.getloadavg()[0], 1)}


def main() -> int:
    """Measure each number of sites, a line as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sites", type=int, nargs="+", default=[2, 20, 100, 500, 1000])
    parser.add_argument("--rounds", type=int, default=5, help="0: measure idle sites alone")
    parser.add_argument("--idle", type=float, default=30.0, help="seconds that idle sites are watched")
    parser.add_argument("--no-pace", action="store_true", help="sites that do not heed the server's pace")
    parser.add_argument("--json", type=Path, help="file for all numbers")
    arguments = parser.parse_args()
    found = []
    for sites in arguments.sites:
        case = measure(sites, arguments.rounds, arguments.idle, not arguments.no_pace)
        found.append(case)
        texts = (f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}" for key, value in case.items())
        print(", ".join(texts), flush=True)
        if arguments.json:
            arguments.json.write_text(json.dumps(found, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
