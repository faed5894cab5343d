"""The grid of a deployment: it pulls replies from the SuperLink itself, one by one and with a time limit.

Flower's grid waits two hours for an object that never comes because its sender or the SuperLink died. And it builds the
messages that it has pulled one after the other and lets an exception of any of them through, after it has confirmed
them: one malformed reply would lose those of all others, and end the run. So this grid has a way of its own to take
replies, over the connection of Flower's: each is fetched when it is asked for, and lost by no lost connection.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import httpx
from flwr.app import Error, Message
from flwr.app.message import make_message
from flwr.common.constant import ErrorCode
from flwr.common.serde import metadata_from_proto  # type: ignore[attr-defined]
from flwr.proto.message_pb2 import ConfirmMessageReceivedRequest
from flwr.proto.runtime_pb2 import PullAppMessagesRequest
from flwr.serverapp import Grid
from flwr.supercore.inflatable.inflatable_object import iterate_object_tree
from flwr.supercore.inflatable.inflatable_protobuf_utils import make_pull_object_fn_protobuf
from flwr.supercore.inflatable.inflatable_utils import ObjectPullError, inflate_object_from_contents, pull_objects

from server.flower.attended import attended
from server.flower.deadline import in_exchange, seconds_left
from server.flower.reply_checks import UNREADABLE
from server.flower.wrapped_grid import WrappedGrid

__all__ = ["FIRST_WAIT", "LAST_WAIT", "DeployedGrid"]

logger = logging.getLogger("pfedgp.server")

# Seconds; doubled after every try. A message is announced before its objects are there, so the first try often fails.
FIRST_WAIT, LAST_WAIT = 0.05, 1.0


class DeployedGrid(WrappedGrid):
    """Takes replies within the time of `server.flower.deadline`, and an unreadable one as an error of its sender.

    It is no subclass of Flower's ``HttpGrid``, because the process of the server app has made that before this app
    starts, and sends its heartbeats and its log over the same connection.

    Parameters
    ----------
    grid : HttpGrid
        Of Flower, with the run set.
    """

    def __init__(self, grid: Grid) -> None:
        super().__init__(grid)
        self._announced: dict[str, _Announced] = {}  # by the request: those that are not whole yet

    def pull_messages(self, message_ids: Any) -> Iterator[Message]:
        """Replies that have arrived to these requests, each fetched when it is asked for; see `_Replies`."""
        asked = list(message_ids)
        if new := [message_id for message_id in asked if message_id not in self._announced]:
            self._ask(new)
        return _Replies(self._grid, self._announced, [key for key in asked if key in self._announced])

    def _ask(self, message_ids: list[str]) -> None:
        """Hear which replies have arrived; the SuperLink announces none a second time."""
        try:
            answer = self._grid._runtime_client.PullMessages(  # type: ignore[attr-defined]
                PullAppMessagesRequest(message_ids=message_ids)
            )
        except httpx.HTTPStatusError as error:
            if error.response.status_code != httpx.codes.REQUEST_ENTITY_TOO_LARGE:
                raise
            logger.error("the SuperLink refuses to be asked for that many replies at once")
            return
        for message, tree in zip(answer.messages_list, answer.message_object_trees, strict=True):
            self._announced[message.metadata.reply_to_message_id] = _Announced(message.metadata, tree)


class _Announced:
    """A reply whose objects are on their way."""

    def __init__(self, metadata: Any, tree: Any) -> None:
        self.metadata = metadata
        self.contents: dict[str, bytes] = {}
        self.gone = False  # an object is known to nobody, and will not come
        self._parts = [part.object_id for part in iterate_object_tree(tree)]

    def missing(self) -> list[str]:
        """Objects that are not here."""
        return [part for part in self._parts if part not in self.contents]

    def taking(self, pull: Callable[[str], bytes]) -> Callable[[str], bytes]:
        """A function that pulls an object and keeps it, for as often as it takes."""

        def take(object_id: str) -> bytes:
            try:
                content = self.contents[object_id] = pull(object_id)
            except ObjectPullError:
                self.gone = True
                raise
            return content

        return take


class _Replies:
    """Replies that the SuperLink has announced, once each.

    Within an exchange one that is not whole is left until the next look, so that a slow line holds no other site's
    reply; else it is waited for. One whose objects cannot be fetched because the connection is lost can be asked for
    again.
    """

    def __init__(self, grid: Any, announced: dict[str, _Announced], requests: list[str]) -> None:
        self._grid, self._announced, self._requests = grid, announced, deque(requests)

    def __iter__(self) -> "_Replies":
        return self

    def __next__(self) -> Message:
        while self._requests:
            reply = self._announced[self._requests[0]]
            message = self._take(reply)
            request = self._requests.popleft()
            if message is not None:
                del self._announced[request]
                return message
        raise StopIteration

    def _take(self, reply: _Announced) -> Message | None:
        """One reply, whole, or an error reply in its place; None where the rest of it may still come."""
        client, node = self._grid._runtime_client, self._grid.node
        run_id, left = self._grid.run.run_id, seconds_left()
        later = in_exchange() and left > 0
        try:
            attended(
                lambda: pull_objects(
                    reply.missing(),
                    reply.taking(make_pull_object_fn_protobuf(client.PullObject, node, run_id)),
                    max_time=0.0 if later else left,
                    max_tries_per_object=None,
                    initial_backoff=FIRST_WAIT,
                    backoff_cap=LAST_WAIT,
                )
            )
        except ObjectPullError:
            if later and not reply.gone:
                return None
            return _failed(reply.metadata, ErrorCode.MESSAGE_UNAVAILABLE, "incomplete")
        message_id = reply.metadata.message_id
        client.ConfirmMessageReceived(
            ConfirmMessageReceivedRequest(node=node, run_id=run_id, message_object_id=message_id)
        )
        try:
            message = inflate_object_from_contents(message_id, reply.contents)
        except Exception:  # noqa: BLE001 - whatever a client sends
            message = None
        if not isinstance(message, Message):
            return _failed(reply.metadata, UNREADABLE, "unreadable")
        message.metadata.__dict__["_message_id"] = message_id
        return message


def _failed(announced: Any, code: int, reason: str) -> Message:
    """An error reply to the request that the SuperLink has announced a reply to."""
    return make_message(metadata_from_proto(announced), error=Error(code, reason))
