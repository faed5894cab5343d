"""The server tells a site how long to wait before it looks for messages again."""

import importlib
from typing import Any, ClassVar

import grpc

from pfedgp.site.flower_waits import Waits
from pfedgp_core.patch import Patch, lacks
from pfedgp_core.wire.names import PAUSE

__all__ = ["HeedPace", "ServerPace"]

LONGEST = 60.0  # seconds; whatever a server says, a site asks once a minute
_CONNECTION = "flwr.client.grpc_rere_client.connection"


class HeedPace(grpc.UnaryUnaryClientInterceptor):  # type: ignore[misc]
    """Reads the server's word from what follows an answer.

    Parameters
    ----------
    waits : Waits
        Of the SuperNode's loop.
    """

    def __init__(self, waits: Waits) -> None:
        self._waits = waits

    def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
        """Make the call, and heed what it says about the next one."""
        call = continuation(details, request)
        if call.code() is grpc.StatusCode.OK:
            said = dict(call.trailing_metadata() or ()).get(PAUSE)
            if said is not None:
                self._waits.told = seconds(said)
        return call


def seconds(said: object) -> float:
    """The pause that a server asks for; none where it is no number or one that cannot be."""
    try:
        asked = float(str(said)[:20])
    except ValueError:
        return 0.0
    return min(asked, LONGEST) if asked > 0 else 0.0


class ServerPace(Patch):
    """Puts `HeedPace` into the connection that the SuperNode is about to open.

    Parameters
    ----------
    waits : Waits, optional
        Needed to apply the patch.
    """

    name: ClassVar = "server-pace"
    purpose: ClassVar = "sites of a large federation look for messages less often, as the server asks"
    safety: ClassVar = False

    def __init__(self, waits: Waits | None = None) -> None:
        self._waits = waits

    def missing(self) -> str:
        """What of the SuperNode's connection is gone."""
        return lacks(_CONNECTION, "create_channel", {"interceptors"})

    def apply(self) -> None:
        """Add the interceptor to every channel that the connection makes."""
        module: Any = importlib.import_module(_CONNECTION)
        make, waits = module.create_channel, self._waits
        assert waits is not None

        def heeding(*args: Any, interceptors: Any = (), **kwargs: Any) -> Any:
            return make(*args, interceptors=[HeedPace(waits), *(interceptors or ())], **kwargs)

        module.create_channel = heeding
