"""Flower's grid of a simulation whose messages go straight to a back end: nobody looks for them from time to time."""

import threading
import time
from collections.abc import Callable, Iterable
from queue import SimpleQueue
from uuid import uuid4

from flwr.app import Context, Error, Message, RecordDict
from flwr.common.constant import NUM_PARTITIONS_KEY, PARTITION_ID_KEY, SUPERLINK_NODE_ID, ErrorCode
from flwr.proto.node_pb2 import NodeInfo
from flwr.server.superlink.fleet.vce.backend import Backend
from flwr.serverapp import Grid
from flwr.supercore.run import Run

from pfedgp.local.pool.backend import PoolEndedError
from pfedgp.local.pool.crew import WorkerEndedError
from pfedgp_core.errors import PFedGPError

__all__ = ["PoolGrid"]

FIRST_NODE = SUPERLINK_NODE_ID + 1


class PoolGrid(Grid):
    """Gives each worker of a back end the next message as soon as it is free.

    Parameters
    ----------
    backend : Backend
        That is built.
    nodes : int
        Clients; each has a context of its own, which every message takes to its worker and back.
    run : Run
    """

    def __init__(self, backend: Backend, nodes: int, run: Run) -> None:
        self._backend, self._run = backend, run
        self._contexts = {
            FIRST_NODE + i: Context(
                run.run_id, FIRST_NODE + i, {PARTITION_ID_KEY: i, NUM_PARTITIONS_KEY: nodes}, RecordDict(), {}
            )
            for i in range(nodes)
        }
        self._claims = {node: threading.Lock() for node in self._contexts}  # a client answers one message at a time
        self._waiting: SimpleQueue[Message | None] = SimpleQueue()
        self._replies: dict[str, tuple[float, Message]] = {}  # id of a request -> until when it lives, the reply
        self._arrived, self._lock = threading.Event(), threading.Lock()
        self._broken: Exception | None = None

    def start(self, ready: Callable[[], None]) -> None:
        """Start to work on messages once `ready`, which waits for the back end, returns."""

        def begin() -> None:
            try:
                ready()
            except Exception as error:  # noqa: BLE001 (raised again by who uses the grid)
                self._break(error)
                return
            for _ in range(self._backend.num_workers):
                threading.Thread(target=self._work, daemon=True, name="pool").start()

        threading.Thread(target=begin, daemon=True, name="pool-start").start()

    def stop(self) -> None:
        """Start to work on no message any more."""
        for _ in range(self._backend.num_workers):
            self._waiting.put(None)

    def set_run(self, run: Run) -> None:
        """Set the run that the grid serves."""
        self._run = run

    @property
    def run(self) -> Run:
        """The run that the grid serves."""
        return self._run

    def create_message(
        self, content: RecordDict, message_type: str, dst_node_id: int, group_id: str, ttl: float | None = None
    ) -> Message:
        """Make a message."""
        return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

    def get_node_ids(self) -> list[int]:
        """Ids of all nodes; the first is the one with partition 0."""
        return list(self._contexts)

    def get_nodes(self) -> list[NodeInfo]:
        """All nodes; none has a key."""
        return [NodeInfo(node_id=node) for node in self._contexts]

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        """Hand requests to the workers, and return their ids."""
        self._raise_if_broken()
        self._forget_expired()
        listed = list(messages)
        for message in listed:
            message.metadata.__dict__["_message_id"] = str(uuid4())
            self._waiting.put(message)
        return [message.metadata.message_id for message in listed]

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        """Replies that have arrived to these requests."""
        self._raise_if_broken()
        self._arrived.clear()
        with self._lock:
            return [self._replies.pop(asked)[1] for asked in message_ids if asked in self._replies]

    def wait(self, seconds: float) -> None:
        """Wait until a reply arrives, at most so long."""
        self._arrived.wait(seconds)

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> list[Message]:
        """Send requests, and collect replies until all are there or `timeout` seconds have passed."""
        asked, replies = set(self.push_messages(messages)), list[Message]()
        deadline = None if timeout is None else time.monotonic() + timeout
        while asked and (deadline is None or time.monotonic() < deadline):
            self.wait(1.0 if deadline is None else max(0.0, deadline - time.monotonic()))
            arrived = self.pull_messages(asked)
            asked -= {reply.metadata.reply_to_message_id for reply in arrived}
            replies += arrived
        return replies

    def _work(self) -> None:
        """Keep one worker busy."""
        while (message := self._waiting.get()) is not None:
            reply = self._answer(message)
            if reply is None:
                return
            reply.metadata.__dict__["_message_id"] = str(uuid4())
            with self._lock:
                self._replies[message.metadata.message_id] = _end_of(message), reply
            self._arrived.set()

    def _answer(self, message: Message) -> Message | None:
        """The reply to a message; None where the pool has come to its end."""
        if time.time() > _end_of(message):
            return Message(Error(ErrorCode.MESSAGE_UNAVAILABLE, "expired"), reply_to=message)
        node = message.metadata.dst_node_id
        try:
            if node not in self._contexts:
                return Message(Error(ErrorCode.NODE_UNAVAILABLE, "no such node"), reply_to=message)
            with self._claims[node]:
                reply, self._contexts[node] = self._backend.process_message(message, self._contexts[node])
        except PoolEndedError:
            return None
        except WorkerEndedError:
            return Message(Error(ErrorCode.CLIENT_APP_CRASHED, "the worker process ended"), reply_to=message)
        except PFedGPError as error:
            self._break(error)
            return None
        except Exception as error:  # noqa: BLE001 (as Flower's engine does)
            return Message(Error(ErrorCode.UNKNOWN, f"{type(error)}:<'{error}'>"), reply_to=message)
        return reply

    def _break(self, error: Exception) -> None:
        self._broken = error
        self._arrived.set()

    def _raise_if_broken(self) -> None:
        if self._broken is not None:
            raise self._broken

    def _forget_expired(self) -> None:
        """Replies that nobody has asked for while their request lived are of no use any more."""
        now = time.time()
        with self._lock:
            for asked in [asked for asked, (until, _) in self._replies.items() if until < now]:
                del self._replies[asked]


def _end_of(message: Message) -> float:
    """The time, in seconds since 1970, at which a message expires."""
    return message.metadata.created_at + message.metadata.ttl
