"""Stragglers: clients whose answer a round did not wait for (`wait-share`), and what they send after all."""

import logging
import math
import time
from collections.abc import Collection, Iterable

from flwr.app import Message
from flwr.common.constant import ErrorCode

from pfedgp_core.config import Settings
from pfedgp_core.wire.replies import EvaluateReply, TrainReply
from server.clients.record import Client
from server.intake import Intake

__all__ = ["Stragglers"]

logger = logging.getLogger("pfedgp.server")

ROUNDING = 1e-9  # 0.7 of 10 clients are 7, although the product of the floats is more


class Stragglers:
    """The requests of closed rounds that are still open. A late answer is fetched, counted and used for nothing.

    A client with an open request is not drawn for an update: its requests would queue up, and it would answer one round
    after the other too late.

    Parameters
    ----------
    settings : Settings

    Attributes
    ----------
    arrived : int
        Late updates that came in since `take_arrived` was called.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.arrived = 0
        self._open: dict[str, tuple[str, float]] = {}  # id of a request -> its client, and until when it lives
        self._trained: Intake[TrainReply] | None = None
        self._measured: tuple[Intake[EvaluateReply], ...] = ()

    def watch(self, trained: Intake[TrainReply], measured: Iterable[Intake[EvaluateReply]]) -> None:
        """A round begins, whose answers go there; `leave` ends it."""
        self._trained, self._measured = trained, tuple(measured)

    def enough(self) -> bool:
        """Whether the round is over although some clients have not answered.

        The share has answered, ``min-results`` of them so that it can be used, and whoever is asked to evaluate too.
        """
        if self.settings.wait_share >= 1 or self._trained is None:
            return False
        asked, answered, usable = self._trained.counts
        if answered == asked or answered < math.ceil(self.settings.wait_share * asked - ROUNDING):
            return False
        return usable >= self.settings.min_results and all(i.counts[0] == i.counts[1] for i in self._measured)

    def leave(self) -> list[str]:
        """End the round; returns the names of the clients for whose answers it has not waited."""
        late = self._trained.waiting() if self._trained is not None and self.enough() else []
        self._trained, self._measured = None, ()
        for client, message, _ in late:
            if message.metadata.message_id:  # else it was not sent yet, and brings no answer
                end = message.metadata.created_at + message.metadata.ttl
                self._open[message.metadata.message_id] = (client.name, end)
        return sorted(client.name for client, _, _ in late)

    def open_requests(self) -> list[str]:
        """Ids of the requests whose late answers are to be fetched with those of an exchange."""
        now = time.time()
        self._open = {request: (name, end) for request, (name, end) in self._open.items() if now <= end}
        return list(self._open)

    def take(self, reply: Message) -> bool:
        """Whether a reply is a late one, which is counted and forgotten."""
        name, _ = self._open.pop(reply.metadata.reply_to_message_id, ("", 0.0))
        if not name:
            return False
        if not reply.has_error():
            self.arrived += 1
            logger.info("a late update of %s is not used", name)
        elif reply.error.code != ErrorCode.MESSAGE_UNAVAILABLE:
            logger.info("%s failed after its round was closed", name)
        return True

    def take_arrived(self) -> int:
        """How many late updates came in since the last call."""
        arrived, self.arrived = self.arrived, 0
        return arrived

    def free(self, online: Collection[Client]) -> list[Client]:
        """Those of the connected clients that may be drawn for an update, in their order.

        All of them, where too few would be left for a round. A client that is not connected has lost its request.
        """
        if not self._open:
            return list(online)
        there = {client.name for client in online}
        self._open = {request: (name, end) for request, (name, end) in self._open.items() if name in there}
        self.open_requests()
        busy = {name for name, _ in self._open.values()}
        left = [client for client in online if client.name not in busy]
        return left if len(left) >= self.settings.min_results else list(online)
