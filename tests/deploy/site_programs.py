"""For tests of ``pfedgp client``: a SuperLink on loopback with a probe as its ServerApp, and real clients to it."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pfedgp.local.processes import LocalFlower, write_app
from pfedgp_core.config import Settings
from tests.deploy.program import PROGRAM, wait_for

PROBE = Path(__file__).with_name("probe_app.py")
# Generous: a machine under load takes a while to import torch.
PATIENCE = 90.0


def until(holds: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
    """Wait for something true and return it."""
    return wait_for(holds, seconds, what)


class Site:
    """A running ``pfedgp client``."""

    def __init__(
        self, superlink: str, state: Path, *options: str, index: int = 0, env: Mapping[str, str] | None = None
    ) -> None:
        self.state = state
        self.read = 0  # characters of what it has shown that `says` leaves out
        self.output = state.with_suffix(".out")
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [
                    *(*PROGRAM, "client", "--insecure", "--superlink", superlink),
                    *("--partition-id", str(index), "--num-partitions", "2", "--state", str(state), *options),
                ],
                env={**os.environ, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def status(self) -> dict[str, Any]:
        """What the client says about its processes; empty before it does."""
        try:
            status = dict(json.loads((self.state / "client.json").read_text()))
        except OSError:
            return {}
        return status if status["supervisor"] == self.process.pid else {}

    def pids(self) -> list[int]:
        """All its processes that are known."""
        return [pid for key in ("supervisor", "supernode", "worker") if (pid := self.status().get(key))]

    def text(self) -> str:
        """Everything it has shown."""
        return self.output.read_text(errors="replace")

    def says(self, pattern: str) -> "re.Match[str]":
        """Wait for a line that matches, shown since the last call of `forget`."""
        return until(lambda: re.search(pattern, self.text()[self.read :]), f"{pattern!r} in {self.text()[-800:]!r}")

    def forget(self) -> None:
        """Leave what it has shown so far out of account."""
        self.read = len(self.text())

    def node(self) -> int:
        """Wait for the connection, and return the node's id."""
        return int(until(lambda: self.status().get("connected") and self.status()["node_id"], "the connection"))

    def worker(self, other_than: int | None = None) -> int:
        """Wait for a worker and return its process id."""

        def found() -> int | None:
            pid = self.status().get("worker")
            return pid if pid != other_than else None

        return int(until(found, "a worker"))

    def close(self) -> None:
        """End whatever is left of it."""
        pids = self.pids()
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()


class Federation:
    """A SuperLink with a run of the probe."""

    def __init__(self, folder: Path, flower: LocalFlower) -> None:
        self.folder, self.flower = folder, flower
        self._asked = 0

    @property
    def superlink(self) -> str:
        """Address of the fleet port."""
        return f"127.0.0.1:{self.flower.fleet_port}"

    def run_probe(self, version: str = "") -> "Probe":
        """Start a run of the probe, optionally as another version of the app."""
        self._asked += 1
        probe = Probe(self.folder / f"probe-{self._asked}")
        app = probe.folder / "pfedgp"
        write_app(app, Settings(), probe.folder)
        (app / "server" / "probe_app.py").write_text(PROBE.read_text())
        project = app / "pyproject.toml"
        text = project.read_text().replace("server.server_app:app", "server.probe_app:app")
        text = text.replace("\nout = ", f"\nfolder = {json.dumps(str(probe.folder))}\nout = ", 1)
        if version:
            text = re.sub(r'\nversion = "[^"]*"', f'\nversion = "{version}"', text, count=1)
        project.write_text(text)
        self.flower.submit(app)
        return probe


class Probe:
    """A run that sends what a test asks for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._asked = 0
        folder.mkdir()

    def ask(self, node: int, kind: str = "query.hello", timeout: float = PATIENCE, round: int = 0) -> Path:
        """Send a request and return where its reply will be."""
        self._asked += 1
        path = self.folder / f"{self._asked:04d}.request"
        partial = path.with_suffix(".asking")
        partial.write_text(json.dumps({"node": node, "kind": kind, "timeout": timeout, "round": round}))
        partial.rename(path)
        return path.with_suffix(".reply")

    def answer(self, reply: Path) -> dict[str, Any]:
        """Wait for the reply to a request: ``code`` and ``reason`` of an error, ``seconds``."""
        until(reply.exists, f"the reply {reply}")
        content = json.loads(reply.read_text())
        (one,) = content["replies"] or [{"code": None, "reason": "missing"}]
        return {"code": 0, "reason": ""} | one | {"seconds": content["seconds"]}

    def call(self, node: int, kind: str = "query.hello", timeout: float = PATIENCE) -> dict[str, Any]:
        """Send a request and wait for its reply."""
        return self.answer(self.ask(node, kind, timeout))

    def end(self) -> None:
        """Let the run end."""
        (self.folder / "end").touch()


@contextmanager
def federation(folder: Path) -> Iterator[Federation]:
    """A SuperLink on loopback, for as long as the block lasts."""
    with LocalFlower(folder) as flower:
        flower.start_superlink()
        yield Federation(folder, flower)
