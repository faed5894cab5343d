"""ClientApps for worker processes of a simulation, found by their names; each message says what its client does."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from pfedgp.local.pool.backend import PoolBackend

app = ClientApp()


@app.train()
def train(message: Message, context: Context) -> Message:
    """Count this client's messages, and do what the message asks for."""
    asked = message.content.config_records["do"]
    context.state.setdefault("seen", MetricRecord({"n": 0}))
    seen = context.state.metric_records["seen"]
    seen["n"] = int(seen["n"]) + 1  # type: ignore[call-overload]
    what, path = str(asked["what"]), Path(str(asked["path"]))
    if what == "die" or (what == "die once" and not path.exists()):
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "raise":
        raise ValueError("a mistake of this app")
    if what == "wait":
        path.touch()
        time.sleep(600)
    answer = MetricRecord({"n": seen["n"], "pid": os.getpid()})
    arrays = message.content.get("arrays", ArrayRecord())
    return Message(RecordDict({"answer": answer, "arrays": arrays}), reply_to=message)


def load() -> ClientApp:
    """The app."""
    return app


def load_nothing() -> ClientApp:
    """An app that lacks a package."""
    raise ImportError("No module named 'scanner'")


def threads() -> int:
    """Threads of this process, of whatever library."""
    return len([*Path("/proc/self/task").iterdir()])


@dataclass(frozen=True)
class Prepare:
    """Leaves a line in a file."""

    path: Path

    def __call__(self) -> None:
        with self.path.open("a") as file:
            file.write(f"{threads()} threads\n")


@dataclass(frozen=True)
class Enter:
    """Leaves the place of each new process in a file."""

    path: Path

    def __call__(self, index: int) -> None:
        with self.path.open("a") as file:
            file.write(f"{index} {threads()}\n")


def request(what: str = "", path: Path = Path("none"), node: int = 2, ttl: float = 600.0) -> Message:
    """A message to a node."""
    content = RecordDict({"do": ConfigRecord({"what": what, "path": str(path)})})
    return Message(content, node, "train", ttl=ttl)


def context(node: int = 2) -> Context:
    """The context of a client without a state."""
    return Context(1, node, {"partition-id": node - 2, "num-partitions": 4}, RecordDict(), {})


@contextmanager
def pool(folder: Path, workers: int = 1) -> Iterator[PoolBackend]:
    """A back end whose workers serve."""
    backend = PoolBackend(workers, Prepare(folder / "prepared"), Enter(folder / "entered"))
    backend.build(load)
    try:
        backend.wait_ready()
        yield backend
    finally:
        backend.terminate()
