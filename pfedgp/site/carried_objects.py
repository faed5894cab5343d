"""A site's messages carry their small objects: Flower's SuperNode fetches and sends each by a call of its own.

See `pfedgp_core.wire.carried`. The site asks for objects with every look for messages; a server that knows of them adds
them, and gets those of the reply in the same way. What comes so passes the same checks as what a call brings.
"""

import functools
import importlib
from collections.abc import Callable
from typing import Any, ClassVar

import grpc

from pfedgp_core.patch import Patch, lacks
from pfedgp_core.wire.carried import WANTED, attach, detach, fitting, ids_of

__all__ = ["Cargo", "CarriedObjects"]

_CONNECTION = "flwr.client.grpc_rere_client.connection"
_LOOP = "flwr.supernode.start_client_internal"
_PULL, _PUSH = "_pull_and_store_message", "_push_messages"
_FLEET = "/flwr.proto.Fleet/"
PULL, PUSH = f"{_FLEET}PullMessages", f"{_FLEET}PushMessages"


class Cargo(grpc.UnaryUnaryClientInterceptor):  # type: ignore[misc]
    """What the message under way carries; the SuperNode takes and sends one at a time.

    Attributes
    ----------
    arrived : dict of str to bytes
        Objects of the last request, until they are taken.
    leaving : dict of str to bytes
        Objects of the reply that is being announced.
    known : bool
        Whether the server has sent objects so, and takes them.
    """

    def __init__(self) -> None:
        self.arrived: dict[str, bytes] = {}
        self.leaving: dict[str, bytes] = {}
        self.known = False

    def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
        """Make a call: ask for objects, take them, and send them."""
        if details.method == PUSH:
            for message in request.messages_list[:1]:
                detach(message)  # of a try before this one
                attach(message, self.leaving)
        if details.method != PULL:
            return continuation(details, request)
        if WANTED not in request.message_ids:
            request.message_ids.append(WANTED)
        call = continuation(details, request)
        if call.code() is grpc.StatusCode.OK:
            self.arrived = {}
            for message in call.result().messages_list:
                self.arrived |= detach(message)
                self.known = bool(self.arrived)
        return call


class CarriedObjects(Patch):
    """Puts a `Cargo` between the SuperNode's loop and the connection that it is about to open.

    Parameters
    ----------
    loop, connection : module, optional
        Flower's by default.
    """

    name: ClassVar = "site-cargo"
    purpose: ClassVar = "the objects of a small message come and go with it, in one call"

    def __init__(self, loop: Any = None, connection: Any = None) -> None:
        self._loop, self._connection = loop, connection

    def missing(self) -> str:
        """What of the SuperNode's loop, of its connection or of messages is gone."""
        return (
            lacks(_CONNECTION, "create_channel", {"interceptors"})
            or lacks(_LOOP, _PULL, {"pull_object"})
            or lacks(_LOOP, _PUSH, {"object_store", "send"})
            or lacks("flwr.proto.fleet_pb2", "PullMessagesRequest.MESSAGE_IDS_FIELD_NUMBER")
            or lacks("flwr.proto.recorddict_pb2", "ConfigRecordValue.BYTES_FIELD_NUMBER")
        )

    def apply(self) -> None:
        """Add the interceptor, and replace the loop's two functions."""
        loop: Any = self._loop or importlib.import_module(_LOOP)
        connection: Any = self._connection or importlib.import_module(_CONNECTION)
        cargo, make = Cargo(), connection.create_channel

        def carrying(*args: Any, interceptors: Any = (), **kwargs: Any) -> Any:
            return make(*args, interceptors=[cargo, *(interceptors or ())], **kwargs)

        connection.create_channel = carrying
        setattr(loop, _PULL, _taking(getattr(loop, _PULL), cargo))
        setattr(loop, _PUSH, _sending(getattr(loop, _PUSH), cargo))


def _taking(pull: Callable[..., Any], cargo: Cargo) -> Callable[..., Any]:
    @functools.wraps(pull)
    def pull_and_store(*, pull_object: Callable[[int, str], bytes], **others: Any) -> Any:
        def take(run: int, object_id: str) -> bytes:
            here = cargo.arrived.pop(object_id, None)
            return pull_object(run, object_id) if here is None else here

        return pull(pull_object=take, **others)

    return pull_and_store


def _sending(push: Callable[..., None], cargo: Cargo) -> Callable[..., None]:
    @functools.wraps(push)
    def push_messages(*, object_store: Any, send: Callable[..., Any], **others: Any) -> None:
        def announce(message: Any, tree: Any, *rest: Any) -> Any:
            if cargo.known:
                cargo.leaving = fitting({each: object_store.get(each) or b"" for each in ids_of(tree)})
            try:
                return send(message, tree, *rest)
            finally:
                cargo.leaving = {}

        push(object_store=object_store, send=announce, **others)

    return push_messages
