"""The grid of a deployment: it takes replies from the SuperLink itself, one by one and with a time limit.

Flower's grid waits two hours for an object that never comes because its sender or the SuperLink died. And it builds the
messages that it has pulled one after the other and lets an exception of any of them through, after it has confirmed
them: one malformed reply would lose those of all others, and end the run. So this grid has a way of its own to take
replies, over the connection of Flower's: each is fetched when it is asked for, and lost by no lost connection. Requests
go out as Flower's grid sends them, but for small objects, which they carry along (`pfedgp_core.wire.carried`).
"""

import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
from flwr.app import Error, Message
from flwr.app.message import make_message, remove_content_from_message
from flwr.app.message.arraychunk import ArrayChunk
from flwr.common.constant import ErrorCode
from flwr.common.serde import message_to_proto, metadata_from_proto  # type: ignore[attr-defined]
from flwr.proto.message_pb2 import ConfirmMessageReceivedRequest
from flwr.proto.runtime_pb2 import PullAppMessagesRequest, PushAppMessagesRequest
from flwr.serverapp import Grid
from flwr.supercore.inflatable.inflatable_object import (
    get_all_nested_objects,
    get_object_tree,
    iterate_object_tree,
    no_object_id_recompute,
)
from flwr.supercore.inflatable.inflatable_protobuf_utils import (
    make_pull_object_fn_protobuf,
    make_push_object_fn_protobuf,
)
from flwr.supercore.inflatable.inflatable_utils import (
    ObjectPullError,
    inflate_object_from_contents,
    pull_objects,
    push_objects,
)

from pfedgp_core.files.object_files import offer, read
from pfedgp_core.wire.carried import FILED, LARGEST, OBJECTS_FOLDER, attach, detach, fitting
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

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        """Send, and return the ids of what was accepted."""
        listed = list(messages)
        if not listed:
            return []
        client, run_id = self._grid._runtime_client, self._grid.run.run_id  # type: ignore[attr-defined]
        with no_object_id_recompute():
            for message in listed:
                message.metadata.__dict__["_message_id"] = message.object_id
            asked = PushAppMessagesRequest(
                messages_list=[message_to_proto(remove_content_from_message(message)) for message in listed],
                message_object_trees=[get_object_tree(message) for message in listed],
            )
            objects = {key: part for message in listed for key, part in get_all_nested_objects(message).items()}
            attach(asked.messages_list[0], fitting(_carried(objects)))
            try:
                answer = client.PushMessages(asked)
            except httpx.HTTPStatusError as error:
                if not _is_too_large(error):
                    raise
                logger.error("the SuperLink refuses to take that many requests at once")
                return []
            push_objects(
                objects,
                make_push_object_fn_protobuf(client.PushObject, self._grid.node, run_id, answer.session_id),  # type: ignore[attr-defined]
                object_ids_to_push=set(answer.objects_to_push),
            )
        return list(answer.message_ids)

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
            if not _is_too_large(error):
                raise
            logger.error("the SuperLink refuses to be asked for that many replies at once")
            return
        for message, tree in zip(answer.messages_list, answer.message_object_trees, strict=True):
            self._announced[message.metadata.reply_to_message_id] = _Announced(message.metadata, tree, detach(message))


def _carried(objects: Mapping[str, Any]) -> dict[str, bytes]:
    """What a request carries of its objects: their contents, or the word that the SuperLink finds them as files."""
    carried, folder = {}, _folder()
    for object_id, part in objects.items():
        if not isinstance(part, ArrayChunk) or len(part.data) < LARGEST:
            carried[object_id] = part.deflate()
        elif folder is not None:
            with suppress(OSError):  # no room: it goes as ever
                offer(folder, object_id, part.deflate())
                carried[object_id] = FILED
    return carried


def _folder() -> Path | None:
    """Where this server app and its SuperLink lay objects for each other, if there is such a place."""
    named = os.environ.get(OBJECTS_FOLDER)
    return Path(named) if named else None


def _is_too_large(error: httpx.HTTPStatusError) -> bool:
    return error.response.status_code == httpx.codes.REQUEST_ENTITY_TOO_LARGE


class _Announced:
    """A reply whose objects are on their way, but for those that it has carried along."""

    def __init__(self, metadata: Any, tree: Any, carried: Mapping[str, bytes]) -> None:
        self.metadata = metadata
        self.contents = dict(carried)
        self.gone = False  # an object is known to nobody, and will not come
        self._parts = [part.object_id for part in iterate_object_tree(tree)]

    def missing(self) -> list[str]:
        """Objects that are not here."""
        return [part for part in self._parts if part not in self.contents]

    def read_files(self) -> None:
        """Put the content of objects that the SuperLink keeps as files in the place of its word."""
        folder = _folder()
        for object_id in [key for key, content in self.contents.items() if content == FILED]:
            content = None if folder is None else read(folder, object_id)
            if content is None:
                del self.contents[object_id]
            else:
                self.contents[object_id] = content

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
        reply.read_files()
        missing = reply.missing()
        try:
            if missing:
                attended(
                    lambda: pull_objects(
                        missing,
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
