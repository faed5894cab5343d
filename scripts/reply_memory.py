"""Peak memory of a server's round by its clients: python scripts/reply_memory.py [--values N] [--replies 10 100 1000].

Each line is a process of its own. It has the server's strategy ask so many clients and take in their replies, which are
made as a deployment's grid fetches them: when they are asked for. The peak is that of resident memory above what the
process held before the round. Updates beyond 256 MiB lie in a file of the run's folder (`VectorStore`), whose size is
given too; it is no memory of the process, but the system may keep its pages in memory that nobody else wants.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from flwr.app import Message
from flwr.supercore.task_identity import TaskIdentity

from client.messages import reply_to
from pfedgp.benchmarking.memory import PeakMemory
from pfedgp_core.config import Settings
from pfedgp_core.learning.vector_store import IN_MEMORY
from pfedgp_core.methods.fedavg import FedAvg
from pfedgp_core.wire.hello import Hello
from pfedgp_core.wire.names import OK
from pfedgp_core.wire.replies import TrainReply
from server.clients.roster import Client, Roster
from server.flower.messages import pack_vector, request_config
from server.strategy import MethodStrategy

AGGREGATIONS = ("uniform", "median")


class Model(FedAvg):
    """Any vector as a model, without a network: the server's part alone is measured."""

    def __init__(self, settings: Settings, values: int) -> None:
        super().__init__(settings, (1, 8, 8), 2)
        self._values = values

    def initial(self) -> np.ndarray:
        """A vector of ones."""
        return np.ones(self._values, np.float32)

    @property
    def upload_size(self) -> int:
        """As many values as there are."""
        return self._values


def main() -> None:
    """Measure, or with ``--one`` be what is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--values", type=int, default=1_000_000, help="values of the model (default: %(default)s)")
    parser.add_argument("--replies", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--one", metavar="AGGREGATION", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
        print(f"{peak(args.values, args.replies[0], args.one):.0f}")
        return
    print("aggregation  replies  updates MB  on disk MB  peak MB above the start")
    for aggregation in AGGREGATIONS:
        for replies in args.replies:
            command = [sys.executable, __file__, "--values", str(args.values), "--replies", str(replies)]
            done = subprocess.run([*command, "--one", aggregation], capture_output=True, text=True, check=True)
            total = 4 * args.values * replies
            disk = max(0, total - IN_MEMORY // (4 * args.values) * 4 * args.values)
            print(f"{aggregation:11}  {replies:7}  {total / 1e6:10.0f}  {disk / 1e6:10.0f}  {done.stdout.strip():>23}")


def peak(values: int, replies: int, aggregation: str) -> float:
    """Megabytes of one round above what there was before."""
    settings = Settings(clients=replies, clients_per_round=replies, aggregation=aggregation, method="fedavg")
    roster = Roster(settings)
    names = [f"client-{i:04d}" for i in range(replies)]
    for i, name in enumerate(names):
        roster.clients[name] = Client(i + 1, Hello(name, (0, 1), ("a", "b"), 10, 5, 5, (1, 8, 8), "hash", {}))
    roster.connected = set(range(1, replies + 1))
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        strategy = MethodStrategy(settings, roster, Model(settings, values), Path(folder))
        state, memory = pack_vector(strategy.method.initial()), PeakMemory()
        memory.restart()
        before = memory.megabytes()
        messages = strategy.configure_train(1, state, request_config(settings, 1), None)  # type: ignore[arg-type]
        arrays, _ = strategy.aggregate_train(1, answers(messages, values))
        assert arrays is not None
        return memory.megabytes() - before


def answers(messages: list[Message], values: int) -> Iterator[Message]:
    """A reply to each request, made when it is asked for."""
    for i, message in enumerate(messages):
        message.metadata.__dict__["_message_id"] = f"request-{i}"
    for i, message in enumerate(messages):
        vector = np.random.default_rng(i).normal(1.0, 1e-3, values).astype(np.float32)
        yield reply_to(message, TrainReply(f"client-{i:04d}", OK, 10, 0.5, 1), vector)


if __name__ == "__main__":
    main()
