"""The grid of a deployment: it pulls replies from the SuperLink itself, one by one and with a time limit.

Flower's grid waits two hours for an object that never comes because its sender or the SuperLink died. And it builds the
messages that it has pulled one after the other and lets an exception of any of them through, after it has confirmed
them: one malformed reply would lose those of all others, and end the run. So this grid has a way of its own to take
replies, over the connection of Flower's: each is fetched when it is asked for, and lost by no lost connection.
"""

import logging
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import httpx
from flwr.app import Error, Message
from flwr.app.message import make_message
from flwr.common.constant import ErrorCode
from flwr.common.serde import metadata_from_proto  # type: ignore[attr-defined]
from flwr.proto.message_pb2 import ConfirmMessageReceivedRequest
from flwr.proto.runtime_pb2 import PullAppMessagesRequest
from flwr.supercore.inflatable.inflatable_object import iterate_object_tree
from flwr.supercore.inflatable.inflatable_protobuf_utils import make_pull_object_fn_protobuf
from flwr.supercore.inflatable.inflatable_utils import ObjectPullError, inflate_object_from_contents, pull_objects

from server.flower.attended import attended
from server.flower.deadline import seconds_left
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

    def pull_messages(self, message_ids: Any) -> Iterator[Message]:
        """Replies that have arrived to these requests, each fetched when it is asked for; see `_Replies`."""
        try:
            answer = self._grid._runtime_client.PullMessages(  # type: ignore[attr-defined]
                PullAppMessagesRequest(message_ids=message_ids)
            )
        except httpx.HTTPStatusError as error:
            if error.response.status_code != httpx.codes.REQUEST_ENTITY_TOO_LARGE:
                raise
            logger.error("the SuperLink refuses to be asked for that many replies at once")
            return iter(())
        return _Replies(self._grid, zip(answer.messages_list, answer.message_object_trees, strict=True))


class _Replies:
    """The replies that the SuperLink has announced, once each; it announces none a second time.

    A reply whose objects cannot be fetched because the connection is lost can be asked for again.
    """

    def __init__(self, grid: Any, announced: Iterable[tuple[Any, Any]]) -> None:
        self._grid = grid
        self._announced = deque((message.metadata, tree) for message, tree in announced)
        self._contents: dict[str, bytes] | None = None  # of the first of them, where it is not confirmed yet

    def __iter__(self) -> "_Replies":
        return self

    def __next__(self) -> Message:
        if not self._announced:
            raise StopIteration
        message = self._take(*self._announced[0])
        self._announced.popleft()
        self._contents = None
        return message

    def _take(self, announced: Any, tree: Any) -> Message:
        """One reply, whole; or an error reply in its place."""
        client, node = self._grid._runtime_client, self._grid.node
        run_id = self._grid.run.run_id
        try:
            contents = self._contents = self._contents or attended(
                lambda: pull_objects(
                    [part.object_id for part in iterate_object_tree(tree)],
                    make_pull_object_fn_protobuf(client.PullObject, node, run_id),
                    max_time=seconds_left(),
                    max_tries_per_object=None,
                    initial_backoff=FIRST_WAIT,
                    backoff_cap=LAST_WAIT,
                )
            )
        except ObjectPullError:
            return _failed(announced, ErrorCode.MESSAGE_UNAVAILABLE, "incomplete")
        message_id = announced.message_id
        client.ConfirmMessageReceived(
            ConfirmMessageReceivedRequest(node=node, run_id=run_id, message_object_id=message_id)
        )
        try:
            message = inflate_object_from_contents(message_id, contents)
        except Exception:  # noqa: BLE001 - whatever a client sends
            message = None
        if not isinstance(message, Message):
            return _failed(announced, UNREADABLE, "unreadable")
        message.metadata.__dict__["_message_id"] = message_id
        return message


def _failed(announced: Any, code: int, reason: str) -> Message:
    """An error reply to the request that the SuperLink has announced a reply to."""
    return make_message(metadata_from_proto(announced), error=Error(code, reason))
