"""Server side of the wire: making requests, and an exchange that polls fast and ends in time."""

import json
import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.common.constant import ErrorCode
from flwr.serverapp import Grid

from pfedgp_core.config import Settings
from pfedgp_core.data.spec import DataSpec
from pfedgp_core.wire.layout import fits, pack
from pfedgp_core.wire.names import (
    ARRAYS,
    BEST,
    CLASSES,
    CONFIG,
    ROUND,
    RULES,
    RUN,
    SCALE,
    SETTINGS,
    SHARED,
    SPEC,
    SPLIT,
    Fields,
)
from pfedgp_core.wire.npy import array_fields, vector_of
from pfedgp_core.words import few
from server.flower.deadline import objects_until

__all__ = [
    "Late",
    "OwnClasses",
    "Packed",
    "Poll",
    "exchange",
    "pack_vector",
    "push",
    "request",
    "request_config",
    "unpack_vector",
]

logger = logging.getLogger("pfedgp.server")

AT_ONCE = 16  # requests handed to the grid in one call, which holds copies of all of them
TIMES = 3  # how often a request that was lost on its way is sent again
SILENCE = 20.0  # seconds without a reply before the log says for whom an exchange waits; then twice as long each time


def request_config(
    settings: Settings,
    round: int = 0,
    split: str = "",
    spec: DataSpec | None = None,
    run: str = "",
    best: int = 0,
    rules: str = "",
    scale: float = 0.0,
) -> ConfigRecord:
    """Return the config of a request: the whole effective settings, so that every client obeys this run.

    Parameters
    ----------
    settings : Settings
    round : int
    split : str
        What the client is to evaluate; empty: nothing.
    spec : DataSpec, optional
        Of the federation's data, once they are fixed.
    run : str
        Names the run, the same after a resume.
    best : int
        Round of the best model up to now; 0: there is none.
    rules : str
        On which sites have agreed, before there is a `spec`, which holds them.
    scale : float
        At which output scale the client is to predict; 0: at that of the settings. It stands beside these because sites
        approve a run by the hash of its settings.
    """
    config: dict[str, str | int | float] = {SETTINGS: json.dumps(settings.to_run_config()), ROUND: round, SPLIT: split}
    config |= {RUN: run, BEST: best}
    if scale:
        config[SCALE] = scale
    if spec is not None:
        config[SPEC] = spec.to_json()
    elif rules:
        config[RULES] = rules
    return ConfigRecord(config)  # type: ignore[arg-type]


def pack_vector(vector: np.ndarray) -> ArrayRecord:
    """Return the shared vector as the one array of an ArrayRecord."""
    return ArrayRecord({SHARED: Array(**array_fields(vector))})


def unpack_vector(arrays: ArrayRecord) -> np.ndarray:
    """Return what ``pack_vector`` packed, read-only."""
    return vector_of(arrays[SHARED])


class Packed:
    """A vector on its way, packed once for all who get it: within the config where it fits, else a part of its own.

    Parameters
    ----------
    vector : float array [P]
    arrays : ArrayRecord, optional
        What `pack_vector` made of it, where that is there already.
    own : OwnClasses, optional
        Of the clients who get it, where they need a part of it alone.

    Attributes
    ----------
    vector : float32 [P]
        All of it.
    size, nbytes : int
        Values and bytes that arrive.
    """

    def __init__(self, vector: np.ndarray, arrays: ArrayRecord | None = None, own: "OwnClasses | None" = None) -> None:
        self.vector, self.own = np.ascontiguousarray(vector, dtype=np.float32), own
        arriving = self.part(self.vector)
        self.size, self.nbytes = arriving.size, arriving.nbytes
        self.fields: Fields = pack({}, {}, arriving) if fits(arriving) else {}
        self.arrays = None if self.fields else arrays or pack_vector(arriving)
        if own is not None:
            self.fields[CLASSES] = ",".join(map(str, own.classes))

    def part(self, vector: np.ndarray) -> np.ndarray:
        """What those who get this read of such a vector."""
        return vector if self.own is None else vector[self.own.places]


class OwnClasses(NamedTuple):
    """The classes of a client, and the values that it reads and changes, bool [P]; see ``Method.own_places``."""

    classes: tuple[int, ...]
    places: np.ndarray


def request(kind: str, node_id: int, config: Mapping[str, Any], packed: Packed | None, timeout: float) -> Message:
    """Make a request to one node that expires, undelivered, after `timeout` seconds."""
    fields = packed.fields if packed is not None else {}
    if fields or not isinstance(config, ConfigRecord):
        config = ConfigRecord(dict(config) | fields)  # Flower checks each field, which costs more than to copy it
    content = RecordDict({CONFIG: config})
    if packed is not None and packed.arrays is not None:
        content[ARRAYS] = packed.arrays
    return Message(content, dst_node_id=node_id, message_type=kind, ttl=timeout)


class Poll:
    """Waits between two looks: short at first and after news, longer while nothing happens."""

    FIRST, LAST, GROWTH = 0.02, 0.2, 1.3

    def __init__(self) -> None:
        self._wait = self.FIRST

    def news(self) -> None:
        """Look often again."""
        self._wait = self.FIRST

    def sleep(self, at_most: float, wait: Callable[[float], object] | None = None) -> None:
        """Wait, but not longer than `at_most` seconds, nor than `wait` does, which is given the seconds."""
        (wait or time.sleep)(max(0.0, min(self._wait, at_most)))
        self._wait = min(self.LAST, self._wait * self.GROWTH)


class Late(Protocol):
    """Requests for whose answers nobody waits."""

    def enough(self) -> bool:
        """Whether what has arrived up to now ends the exchange."""

    def open_requests(self) -> list[str]:
        """Their ids."""

    def take(self, reply: Message) -> bool:
        """Whether a reply is one to such a request, which is then open no more."""


def push(grid: Grid, messages: list[Message]) -> list[str]:
    """Send, and return the ids of what the grid accepted."""
    # Some grids leave out a refused message's id and others answer None.
    return [message_id for message_id in grid.push_messages(messages) if message_id]


def _nothing() -> None: ...


def exchange(
    grid: Grid,
    messages: list[Message],
    timeout: float,
    names: Mapping[int, str] | None = None,
    window: int | None = None,
    late: Late | None = None,
    meanwhile: Callable[[], object] = _nothing,
) -> Iterator[Message]:
    """Send requests and yield the replies one by one, until all are there or `timeout` seconds have passed.

    No reply is fetched before the caller is done with the one before, so that one of them is in memory at a time where
    the grid allows it. A reply that is announced and does not come may take all of the time; what arrived meanwhile is
    taken nevertheless. A request that the SuperLink has lost, or whose reply it has lost, is sent again.

    Flower's own ``send_and_receive`` looks every three seconds in a deployment, which is most of a short round.

    Parameters
    ----------
    grid : Grid
    messages : list of Message
    timeout : float
        Seconds.
    names : mapping of int to str, optional
        Clients by node id. With it, a log line now and then says for whom the exchange has been waiting for long.
    window : int, optional
        Requests that may be under way at a time (default: any number).
    late : Late, optional
        Requests of former exchanges, whose answers are fetched as well and go there; it may end this one early.
    meanwhile : callable
        Called once the first requests are sent, while nobody can have answered yet.
    """
    deadline = time.monotonic() + timeout
    waiting = deque(messages)
    window = len(messages) if window is None else window
    pending: dict[str, Message] = {}  # requests under way by their ids
    again: Counter[int] = Counter()  # how often the request to a node was lost
    silence, silent_since = SILENCE, time.monotonic()
    poll = Poll()
    wait = getattr(grid, "wait", None)  # some grids know when a reply arrives
    while waiting or pending:
        over = time.monotonic() >= deadline
        while not over and waiting and len(pending) < window:
            room = min(len(waiting), window - len(pending), AT_ONCE)
            batch = [waiting.popleft() for _ in range(room)]
            sent = set(push(grid, batch))
            pending |= {m.metadata.message_id: m for m in batch if m.metadata.message_id in sent}
        meanwhile()
        meanwhile = _nothing
        for reply in _arrived(grid, [*pending, *(late.open_requests() if late else ())], deadline):
            if late and late.take(reply):
                continue
            request = pending.pop(reply.metadata.reply_to_message_id, None)
            if request is not None and not over and _is_lost(reply, request):
                node = request.metadata.dst_node_id
                again[node] += 1
                if again[node] <= TIMES:
                    logger.info("the SuperLink has lost a request or its reply: it is asked again (node %d)", node)
                    waiting.append(request)
                    continue
            poll.news()
            silence, silent_since = SILENCE, time.monotonic()
            yield reply
        if over or (late and late.enough()):
            break
        if names and pending and time.monotonic() - silent_since >= silence:
            nodes = [request.metadata.dst_node_id for request in pending.values()]
            slow = sorted(names.get(node, f"node {node}") for node in nodes)
            logger.info("still waiting for %s (%.0f s)", few(slow), time.monotonic() - silent_since)
            silence *= 2
        if pending and not (waiting and len(pending) < window):
            poll.sleep(deadline - time.monotonic(), wait)


def _is_lost(reply: Message, request: Message) -> bool:
    """Whether a reply is the SuperLink's word that it does not have a request, or its reply, which still live.

    A SuperLink that is killed between taking a reply out of its database and handing it over has lost it, and one that
    was killed within a push may have refused the rest. The same request brings the same reply to the bit.
    """
    if not reply.has_error() or reply.error.code != ErrorCode.MESSAGE_UNAVAILABLE:
        return False
    return time.time() < request.metadata.created_at + request.metadata.ttl


def _arrived(grid: Grid, message_ids: list[str], deadline: float) -> Iterator[Message]:
    """Replies that are there, each fetched when the one before is done with."""
    with objects_until(deadline):
        replies = iter(grid.pull_messages(message_ids))
    while True:
        with objects_until(deadline):
            reply = next(replies, None)
        if reply is None:
            return
        yield reply
