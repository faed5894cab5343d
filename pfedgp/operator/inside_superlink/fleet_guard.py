"""The guard of the Fleet port: a message is read once its key is known, and connections have limits.

Stock Flower reads a whole message, up to 2 GB, before it looks at the call's key, and then accepts any key that signs.
So a stranger fills the server's memory, and with the public key of a site makes that site look connected.
"""

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

import grpc

from pfedgp.operator.inside_superlink.pace import Pace
from pfedgp_core.patch import Patch, lacks
from pfedgp_core.wire.names import PAUSE

__all__ = ["LONGEST_MESSAGE", "FleetGuard", "KeyFirst"]

LONGEST_MESSAGE = 32 * 2**20  # bytes; Flower sends models in pieces of 5 MiB
HANDSHAKE = 20.0  # seconds; gRPC's own limit is two minutes
IDLE = 120.0  # seconds; a site calls at least every 30
STREAMS = 64  # calls at a time on one connection; a site has fewer than ten
_FLEET = "/flwr.proto.Fleet/"
_PULL = f"{_FLEET}PullMessages"
_SUPERLINK = "flwr.superlink.cli.flower_superlink"
_GRPC = "flwr.supercore.grpc"


class KeyFirst(grpc.ServerInterceptor):  # type: ignore[misc]
    """The first interceptor of the Fleet API. It answers whoever has no registered key without reading the message.

    Such a caller hears what Flower would answer to an empty message of that kind. A registered key may activate its own
    node and no other. A site that looks for messages hears when to look again (`pace`).

    Parameters
    ----------
    is_registered : callable
        Whether the server knows a public key, in Flower's own form.
    """

    def __init__(self, is_registered: Callable[[bytes], bool]) -> None:
        self._is_registered = is_registered
        self._pace = Pace()

    def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
        """Return the handler of a call. As it takes a stream, gRPC reads no message that it does not ask for."""
        if not details.method.startswith(_FLEET):
            return continuation(details)
        return grpc.stream_unary_rpc_method_handler(partial(self._answer, continuation, details))

    def _answer(
        self, continuation: Callable[[Any], Any], details: Any, messages: Iterator[bytes], context: Any
    ) -> bytes:
        from flwr.common.constant import PUBLIC_KEY_HEADER
        from flwr.supercore.utils import get_metadata_bytes

        try:
            handler = continuation(details)  # Flower looks at the signature here
        except Exception:  # noqa: BLE001 (whatever a stranger sends as key, time or signature)
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "Unreadable authentication metadata")
        if handler is None or handler.unary_unary is None:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "Method not found!")
        if handler.request_deserializer is None:  # Flower's refusal, which ends the call
            handler.unary_unary(None, context)
        key = get_metadata_bytes(details.invocation_metadata, PUBLIC_KEY_HEADER)
        known = key is not None and self._is_registered(key)
        request = handler.request_deserializer(self._message(known, messages, context))
        if getattr(request, "public_key", key) != key:
            request = handler.request_deserializer(b"")
        if details.method == _PULL and known and key is not None:
            context.set_trailing_metadata(((PAUSE, f"{self._pace.pause(key):.3f}"),))
        answer: bytes = handler.response_serializer(handler.unary_unary(request, context))
        return answer

    @staticmethod
    def _message(known: bool, messages: Iterator[bytes], context: Any) -> bytes:
        if not known:
            return b""
        message = next(messages, None)
        if message is None:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "The call has no message")
        return message or b""


class FleetGuard(Patch):
    """Puts `KeyFirst` and the limits into the server that this process is about to make.

    Parameters
    ----------
    connections : int
        How many connections the Fleet port holds at a time.
    """

    name: ClassVar = "fleet-guard"
    purpose: ClassVar = "a call without a registered key costs no memory, and activates no site"
    safety: ClassVar = True

    def __init__(self, connections: int = 1000) -> None:
        self._connections = connections

    def missing(self) -> str:
        """What of Flower's Fleet server is gone."""
        return (
            lacks(_SUPERLINK, "generic_create_grpc_server", {"servicer_and_add_fn", "interceptors"})
            or lacks(_GRPC, "grpc.server", {"options"})
            or lacks("flwr.server.superlink.linkstate", "LinkState.get_node_id_by_public_key", {"public_key"})
            or lacks("flwr.common.constant", "PUBLIC_KEY_HEADER")
            or lacks("flwr.supercore.utils", "get_metadata_bytes")
        )

    def apply(self) -> None:
        """Change how Flower's program makes its gRPC server."""
        superlink: Any = importlib.import_module(_SUPERLINK)
        module: Any = importlib.import_module(_GRPC)
        make = superlink.generic_create_grpc_server

        def guarded(servicer_and_add_fn: Any, *args: Any, interceptors: Any = None, **kwargs: Any) -> Any:
            factory = servicer_and_add_fn[0].state_factory
            first = KeyFirst(lambda key: factory.state().get_node_id_by_public_key(key) is not None)
            return make(servicer_and_add_fn, *args, interceptors=[first, *(interceptors or ())], **kwargs)

        superlink.generic_create_grpc_server = guarded
        module.grpc = _Limited(module.grpc, self._options())

    def _options(self) -> dict[str, int]:
        return {
            "grpc.max_receive_message_length": LONGEST_MESSAGE,
            "grpc.max_concurrent_streams": STREAMS,
            "grpc.max_allowed_incoming_connections": self._connections,
            "grpc.server_handshake_timeout_ms": int(1000 * HANDSHAKE),
            "grpc.max_connection_idle_ms": int(1000 * IDLE),
        }


class _Limited:
    """The module ``grpc``, whose servers get options of ours in place of their own."""

    def __init__(self, module: Any, options: dict[str, int]) -> None:
        self._module, self._options = module, options

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def server(self, *args: Any, options: Any = (), **kwargs: Any) -> Any:
        kept = [(key, value) for key, value in options or () if key not in self._options]
        return self._module.server(*args, options=[*kept, *self._options.items()], **kwargs)
