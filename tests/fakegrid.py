"""A Grid inside one process: the real apps talk without Ray, sockets or processes, and faults can be put in.

It keeps the traps of the real grids: node ids are random, ``push_messages`` looks at the messages twice (as the
deployment does), replies come back in another order than they were asked for, and what a grid makes of an exception
that leaves a client is Flower's error reply with the exception's text.
"""

import random
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from flwr.app import Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.proto.node_pb2 import NodeInfo
from flwr.serverapp import Grid

from server.engine import DEPLOYMENT, Engine

SUPERLINK = 1

# (request, index of the client, reply) -> the reply that arrives, or None where it gets lost
Tamper = Callable[[Message, int, Message], Message | None]


class FakeGrid(Grid):
    """Runs a ClientApp for `clients` nodes.

    Parameters
    ----------
    app : ClientApp
    clients : int
    tamper : callable, optional
        Sees every reply and may change, replace or lose it.
    node_config : dict, optional
        Added to the node config of every client.
    deployed : bool
        Whether a run takes it for the grid of a deployment, or of a simulation.

    Attributes
    ----------
    engine : Engine
        What the server app is to take it for.
    """

    def __init__(
        self,
        app: ClientApp,
        clients: int,
        tamper: Tamper | None = None,
        node_config: dict[str, Any] | None = None,
        deployed: bool = False,
    ) -> None:
        self.app, self.tamper = app, tamper
        self.engine = DEPLOYMENT if deployed else Engine("simulation", window=1_000_000, riding=False)
        self.sent: list[Message] = []
        self.contexts: dict[int, Context] = {}
        self.offline: set[int] = set()  # indices of clients
        self.keys: dict[int, str] = {}  # node id -> name of its key
        self._replies: dict[str, Message] = {}
        for index in range(clients):
            self.add_node({"partition-id": index, "num-partitions": clients} | (node_config or {}))

    def add_node(self, node_config: dict[str, Any]) -> int:
        """Connect one more node and return its id."""
        node_id = random.SystemRandom().getrandbits(62)
        self.contexts[node_id] = Context(1, node_id, node_config, RecordDict(), {})
        return node_id

    def index(self, node_id: int) -> int:
        """Index of the client that a node id stands for."""
        return int(self.contexts[node_id].node_config.get("partition-id", -1))

    def set_run(self, run: Any) -> None:
        """Nothing to set."""

    @property
    def run(self) -> Any:
        """No run record."""
        return None

    def create_message(self, *args: Any, **kwargs: Any) -> Message:
        """Deprecated in Flower."""
        raise NotImplementedError

    def get_nodes(self) -> Iterable[Any]:
        """Connected nodes, with the names of their keys where nodes need one."""
        return [NodeInfo(node_id=node, name=self.keys.get(node)) for node in self.get_node_ids()]

    def get_node_ids(self) -> list[int]:
        """Ids of connected nodes."""
        return [node for node in self.contexts if self.index(node) not in self.offline]

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        """Deliver requests; the clients answer at once."""
        for message in messages:
            message.metadata.__dict__["_message_id"] = str(uuid.uuid4())
        return [self._deliver(message) for message in messages]

    def _deliver(self, message: Message) -> str:
        self.sent.append(message)
        node, message_id = message.metadata.dst_node_id, message.metadata.message_id
        if node not in self.get_node_ids():
            error = Message(Error(code=5, reason="node unavailable"), reply_to=message)
            error.metadata.__dict__["_src_node_id"] = SUPERLINK
            self._replies[message_id] = error
            return message_id
        try:
            reply: Message | None = self.app(message, self.contexts[node])
        except Exception as error:  # noqa: BLE001 (as Flower does)
            reply = Message(Error(code=2, reason=f"{type(error)}:<'{error}'>"), reply_to=message)
        if self.tamper and reply is not None:
            reply = self.tamper(message, self.index(node), reply)
        if reply is not None:
            self._replies[message_id] = reply
        return message_id

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        """Return the replies that are there, in an order of their own."""
        ids = [message_id for message_id in message_ids if message_id in self._replies]
        random.SystemRandom().shuffle(ids)
        return [self._replies.pop(message_id) for message_id in ids]

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> list[Message]:
        """Flower's own exchange; ours does not use it."""
        return self.pull_messages(self.push_messages(messages))
