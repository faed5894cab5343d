"""Greetings on their way: which nodes were asked, until when an answer counts, and when to ask again."""

import logging
import time
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from flwr.app import ConfigRecord, Message
from flwr.serverapp import Grid

from pfedgp_core.wire.names import HELLO
from server.clients.notices import Notices
from server.flower.messages import push, request

__all__ = ["BROKEN_RETRY_AFTER", "RETRY_AFTER", "Greetings"]

logger = logging.getLogger("pfedgp.server")

# Seconds until a node is greeted again that could not answer, or whose name another connected node has: a client that
# came back after a crash, whose former node counts as connected for up to a minute.
RETRY_AFTER = 2.0
BROKEN_RETRY_AFTER = 30.0  # the same where somebody has to mend its data or its configuration
LONGEST_PAUSE = 60.0  # seconds between greetings of a node whose answers fail again and again
# Flower's codes of errors that come back unchanged however often one asks: the app does not load, raises, is refused.
LASTING_ERRORS = {1, 2, 7}
GRACE = 1.0  # seconds that an answer may take beyond the life of its question


@dataclass
class Greetings:
    """At most one greeting a node at a time.

    Attributes
    ----------
    window : int or None
        Greetings that may be under way at a time; None stands for any number.
    refused : dict of int to str
        Nodes that cannot take part as they are, and why.
    notices : Notices
        Takes for each node what the log says about it.
    """

    window: int | None = None
    refused: dict[int, str] = field(default_factory=dict)
    notices: Notices = field(default_factory=Notices)
    _sent: dict[str, tuple[int, float]] = field(default_factory=dict)  # message id -> node id, until when it counts
    _again: dict[int, float] = field(default_factory=dict)  # node id -> before which time not to greet it again
    _told: dict[int, str] = field(default_factory=dict)  # node id -> what the log last said about it
    _failed: Counter[int] = field(default_factory=Counter)  # node id -> answers that failed, in a row

    @property
    def waiting(self) -> set[int]:
        """Nodes whose answer is awaited."""
        now = time.monotonic()
        return {node for node, until in self._sent.values() if now <= until + GRACE}

    @property
    def delayed(self) -> dict[int, str]:
        """Nodes that cannot take part for now, and what the log said of each."""
        return {node: sentence for node, sentence in self._told.items() if node not in self.refused}

    def accept(self, node: int) -> None:
        """A node's answer was good."""
        self.refused.pop(node, None)
        self._told.pop(node, None)
        self._failed.pop(node, None)

    def put_off(self, node: int, sentence: str, seconds: float, *, tell: bool = True) -> None:
        """Greet a node again after so many seconds; the log says why, once, and a node that answers is told."""
        self._again[node] = time.monotonic() + seconds
        if self._told.get(node) != sentence:
            logger.warning("%s", sentence)
            self._told[node] = sentence
            if tell:
                self.notices.tell(node, sentence, refused=node in self.refused)

    def put_off_longer(self, node: int, sentence: str, seconds: float) -> None:
        """As `put_off`, twice as long with each time: an answer that never becomes whole costs everybody its wait."""
        self.put_off(node, sentence, min(seconds * 2 ** min(self._failed[node], 16), LONGEST_PAUSE), tell=False)
        self._failed[node] += 1

    def refuse(self, node: int, reason: str, sentence: str, seconds: float) -> None:
        """A node cannot take part as it is; it is greeted again later, as its operator may mend it."""
        self.refused[node] = reason
        self.put_off(node, sentence, seconds)

    def failed(self, node: int, who: str, error: str, answer: Message) -> None:
        """A node's answer is an error, or cannot be read; `who` says whose it is."""
        reason = f"{error} (its own log says more)"
        if not answer.has_error() or answer.error.code in LASTING_ERRORS:
            self.refuse(node, error, f"{who} cannot take part: {reason}", BROKEN_RETRY_AFTER)
        else:
            self.put_off_longer(node, f"{who} cannot take part for now: {reason}", RETRY_AFTER)

    def forget(self, nodes: Collection[int]) -> None:
        """Nodes that left may be greeted as soon as they come back."""
        for node in nodes:
            self._again.pop(node, None)
            self._failed.pop(node, None)
            self.refused.pop(node, None)

    def due(self, nodes: Collection[int]) -> list[int]:
        """Those of these nodes that may be greeted now."""
        waiting, now = self.waiting, time.monotonic()
        return [node for node in nodes if node not in waiting and now >= self._again.get(node, 0.0)]

    def send(self, grid: Grid, config: ConfigRecord, lifetimes: dict[int, float]) -> list[int]:
        """Greet nodes; returns those whose greeting the grid took.

        Parameters
        ----------
        grid : Grid
        config : ConfigRecord
        lifetimes : dict of int to float
            Seconds after which a node's greeting expires.
        """
        now = time.monotonic()
        self._sent = {key: (node, until) for key, (node, until) in self._sent.items() if now <= until + GRACE}
        room = len(lifetimes) if self.window is None else self.window - len(self._sent)
        messages = [request(HELLO, node, config, None, lifetimes[node]) for node in sorted(lifetimes)[: max(room, 0)]]
        accepted = set(push(grid, messages)) if messages else set()
        taken = {m.metadata.message_id: m.metadata.dst_node_id for m in messages if m.metadata.message_id in accepted}
        self._sent |= {key: (node, now + lifetimes[node]) for key, node in taken.items()}
        return list(taken.values())

    def answers(self, grid: Grid) -> list[tuple[int, Message]]:
        """Answers that arrived, with their nodes in ascending order."""
        if not self._sent:
            return []
        arrived = list(grid.pull_messages(list(self._sent)))
        nodes = [self._sent.pop(message.metadata.reply_to_message_id)[0] for message in arrived]
        return sorted(zip(nodes, arrived, strict=True), key=lambda pair: pair[0])
