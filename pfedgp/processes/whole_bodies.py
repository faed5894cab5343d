"""Bodies of requests in one piece: Flower's HTTP apps pass every 64 KB of one through six layers of asyncio tasks.

An object of a large model has 5 MB, so that its pieces cost more than all else that is done with it. Here they are
joined before the first of those layers. A body of more than `LIMIT` bytes goes on in pieces after them.
"""

import importlib
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, ClassVar

from pfedgp_core.patch import Patch, lacks

__all__ = ["SuperLinkBodies", "SuperNodeBodies", "WholeBodies"]

LIMIT = 32 * 1024**2  # bytes; Flower's objects have at most 5 MB
PUSH = "/v1/runtime/push-object"  # the one call with large bodies; only a run's own processes make it
_PATHS = "flwr.supercore.protobuf.translation"

Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]


class WholeBodies:
    """An ASGI app around another one, which gets the body of an object's push in one piece.

    Parameters
    ----------
    app : ASGI app
    """

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve one request, or whatever else a server of ASGI asks for."""
        if scope["type"] == "http" and scope["path"] == PUSH:
            first: list[Event] = [await _whole(receive)]

            async def again() -> Event:
                return first.pop() if first else await receive()

            await self._app(scope, again, send)
        else:
            await self._app(scope, receive, send)


async def _whole(receive: Receive) -> Event:
    """The first event of a request, with as much of its body as there is, up to the limit."""
    pieces, size, more = list[bytes](), 0, True
    while more and size <= LIMIT:
        event = await receive()
        if event["type"] != "http.request":  # the caller is gone
            return event
        pieces.append(event.get("body", b""))
        size, more = size + len(pieces[-1]), event.get("more_body", False)
    return {"type": "http.request", "body": b"".join(pieces), "more_body": more}


class SuperLinkBodies(Patch):
    """Puts `WholeBodies` around the app of the SuperLink."""

    name: ClassVar = "superlink-bodies"
    purpose: ClassVar = "an object that the server app pushes takes no way through Flower's layers in pieces"
    module: ClassVar = "flwr.superlink.main"

    def missing(self) -> str:
        """Whether the function that makes the app is gone, or the path of the push is another."""
        if gone := lacks(self.module, "create_app") or lacks(_PATHS, "PROTOBUF_REQUEST_TYPES"):
            return gone
        known: Any = importlib.import_module(_PATHS)
        return "" if ("POST", PUSH) in known.PROTOBUF_REQUEST_TYPES else f"{_PATHS} has no path {PUSH}"

    def apply(self) -> None:
        """Replace the function that makes the app."""
        module: Any = importlib.import_module(self.module)
        create_app = module.create_app
        module.create_app = lambda *given, **named: WholeBodies(create_app(*given, **named))


class SuperNodeBodies(SuperLinkBodies):
    """Puts `WholeBodies` around the app of a SuperNode."""

    name: ClassVar = "supernode-bodies"
    purpose: ClassVar = "an object that the worker's agent pushes takes no way through Flower's layers in pieces"
    module: ClassVar = "flwr.supernode.main"
