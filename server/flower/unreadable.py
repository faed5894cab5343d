"""A reply that Flower cannot read becomes an error reply, and costs its sender its place instead of the run its life.

Flower's grid builds the messages that it has pulled one after the other and lets an exception of any of them through.
By then it has confirmed them all, so that the replies of others would be lost as well. Needs no certain version of
Flower: where the function has another name, Flower's behaviour stays.
"""

import functools
from typing import Any

from flwr.app import Error, Message

__all__ = ["UNREADABLE", "spare_unreadable_replies"]

UNREADABLE = 101  # error code; Flower's own are small


def spare_unreadable_replies() -> bool:
    """Guard the grid of this process; False where this Flower has no such function."""
    try:
        from flwr.superlink.grid import http_grid
    except ImportError:
        return False
    inflate = getattr(http_grid, "inflate_object_from_contents", None)
    if inflate is None:
        return False
    if not getattr(inflate, "spares_unreadable", False):
        http_grid.inflate_object_from_contents = _guarded(inflate)
    return True


def _guarded(inflate: Any) -> Any:
    @functools.wraps(inflate)
    def guarded(object_id: str, object_contents: dict[str, bytes], **more: Any) -> Any:
        head = object_contents.get(object_id, b"")
        try:
            message = inflate(object_id, object_contents, **more)
            if isinstance(message, Message):
                return message
        except Exception:  # whatever a client sends
            pass
        return _error_reply(head)

    guarded.spares_unreadable = True  # type: ignore[attr-defined]
    return guarded


def _error_reply(head: bytes) -> Message:
    """An error reply to the request that the message names, or to none where it does not even say that."""
    from flwr.app.message.message import make_message
    from flwr.common.serde import metadata_from_proto
    from flwr.proto.message_pb2 import Message as MessageProto
    from flwr.proto.message_pb2 import Metadata as MetadataProto
    from flwr.supercore.inflatable.inflatable_object import get_object_body

    try:
        metadata = metadata_from_proto(MessageProto.FromString(get_object_body(head, Message)).metadata)
    except Exception:
        metadata = metadata_from_proto(MetadataProto(message_type="query"))
    return make_message(metadata, error=Error(UNREADABLE, "unreadable"))
