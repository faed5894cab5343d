"""State folders of a server as a deployment leaves them, without a deployment."""

import json
import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pytest

from pfedgp.operator import authority
from pfedgp.operator.connection import Target
from pfedgp.operator.control import Run, SuperNode, UnreachableError
from pfedgp.operator.site_keys import make_pair
from pfedgp.operator.state import ServerState
from pfedgp_core.config import Settings
from server.run.claim import RunLock
from server.run.refusals import RefusalsFile
from server.run.run_config import config_text

EVIL = "<img src=x onerror='window.ran=1'><script>window.ran=1</script>"


def iso(ago: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(time.time() - ago))


def record(t: int, accuracy: float | None = 0.5, failed: dict[str, str] | None = None) -> dict[str, Any]:
    """A line of ``metrics.jsonl``."""
    return {
        "round": t,
        "sampled": ["ward-1", "ward-2"],
        "ok": 2,
        "failed": failed or {},
        "late": [],
        "clipped": {"ward-2": 1.75} if t == 2 else {},
        "train_loss": 1 / t,
        "validation_accuracy": accuracy,
        "validation_failed": {},
        "counters": {"jitter_added": 1},
        "bytes_sent": 1000,
        "bytes_received": 500,
        "best": t == 2,
        "seconds": {"round": 4.0, "train": 3.0, "evaluate": 1.0, "network": 0.5, "gp": 2.0},
    }


def made_run(path: Path, done: int = 12, rounds: int = 60, **summary: Any) -> Path:
    """The folder of a run after `done` rounds; with a summary where one is given."""
    path.mkdir(parents=True)
    info = {"run_id": "7", "started": iso(600), "data": "own data of 3 sites", "engine": "deployment"}
    (path / "config.toml").write_text(config_text(Settings(rounds=rounds, seed=7), info))
    lines = [record(t, 0.5 + 0.03 * min(t, 12) - (0.05 if t % 5 == 0 else 0)) for t in range(1, done + 1)]
    (path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    if summary:
        (path / "summary.json").write_text(json.dumps({"clients": 3, "rounds": done, **summary}))
    return path


def published(path: Path, failed: Sequence[str] = ()) -> Path:
    """``onboarded.json`` in a folder."""
    path.mkdir(parents=True, exist_ok=True)
    sites: list[dict[str, Any]] = [
        {"node": "1", "client": "ward-1", "outcome": "onboarded", "samples": 50, "classes": ["a"], "took_part": True}
    ]
    sites += [{"node": f"{i + 9}", "client": name, "error": "DataError"} for i, name in enumerate(failed)]
    about = {"status": "completed", "onboarded": 1, "failed": len(failed), "sites": sites}
    (path / "onboarded.json").write_text(json.dumps(about | {"model": {"sha256": "ab" * 32}, "run": {}}))
    return path


def node(number: int, name: str, online: bool = True) -> SuperNode:
    return SuperNode(number, name, online, iso(500), b"", time.time())


def run_of(path: Path, status: str = "running", number: int = 7, **config: Any) -> Run:
    return Run(number, status, "", {"out": str(path), "rounds": 60, **config}, iso(600 - number))


class MadeServer:
    """A state folder, with keys and certificates; what runs on it is made up.

    Attributes
    ----------
    nodes, runs : list
        What the server answers.
    silent : bool
        Whether it does not answer.
    """

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch, days: int = 400) -> None:
        self.certs = path / "certs"
        authority.issue(self.certs, ["fl.example.org"], [], days=days)
        for name in ("ward-1", "ward-2", "ward-3"):
            make_pair(self.certs / "clients", name)
        self.state = ServerState(path / "state").prepare()
        self.record: dict[str, Any] = {
            "control_address": "127.0.0.1:1",
            "control_listens": "127.0.0.1:1",
            "fleet_address": "0.0.0.0:9092",
            "ca": str(self.certs / "ca.crt"),
            "certs": str(self.certs),
            "database": True,
            "started": iso(3600),
            "processes": {"superlink": os.getpid()},
            "versions": {"pfedgp": "0.1.0", "flwr": "1.39.0"},
        }
        self.state.write_server(self.record)
        self.nodes = [node(1, "ward-1"), node(2, "ward-2"), node(3, "ward-3")]
        self.runs: list[Run] = []
        self.silent = False
        self._held = ExitStack()
        monkeypatch.setattr(Target, "connect", lambda _: Connection(self))
        monkeypatch.setattr("pfedgp.dashboard.certificates.served_certificate", lambda *_: None)

    def start(self) -> Self:
        """Hold the lock that a server holds."""
        self._held.enter_context(self.state.locked())
        return self

    def stop(self) -> None:
        """Let go of all locks, as the end of the processes does."""
        self._held.close()

    def live_run(self, name: str = "night", done: int = 12) -> Path:
        """A run that a server app holds."""
        path = made_run(self.state.runs / name, done)
        self._held.enter_context(RunLock(path))
        self.runs.insert(0, run_of(path))
        return path

    def gone(self, name: str) -> None:
        """Let a site be not connected."""
        self.nodes = [replace(one, online=False) if one.name == name else one for one in self.nodes]


class Connection:
    """Stands for `Control`."""

    def __init__(self, server: MadeServer) -> None:
        self._server = server

    def __enter__(self) -> Self:
        if self._server.silent:
            raise UnreachableError("The server at 127.0.0.1:1 does not answer (no connection): see what its log says.")
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def nodes(self) -> list[SuperNode]:
        return self._server.nodes

    def runs(self) -> list[Run]:
        return self._server.runs


def busy(server: MadeServer) -> None:
    """A server on which much has happened, with a hostile site among its own."""
    made_run(server.state.runs / "first", 60, status="completed", accuracy=0.917, ece=0.04)
    published(server.state.runs / "first", ["ward-2"])
    made_run(server.state.runs / "second", 9, status="failed", reason="No site was left for 600 s.")
    server.runs = [
        run_of(server.state.runs / "second", "finished:failed", 5),
        run_of(server.state.runs / "first", "finished:completed", 3),
    ]
    path = server.live_run()
    with (path / "metrics.jsonl").open("a") as file:
        file.write(
            json.dumps(record(13, 0.86, {"ward-2": "timeout", EVIL: "update of 77 times the usual norm"})) + "\n"
        )
    server.nodes.append(node(4, EVIL))
    server.gone("ward-3")
    notes = RefusalsFile(path)
    notes.note(4, f"refused: {EVIL} has inputs of shape 7, most sites 5: give all tables the same columns.", True)
