"""Short ways of requests through the SuperLink's HTTP app: layers that do nothing for a request are passed by.

A layer of Starlette's kind runs what is below it in a task of its own, with a queue in between, which costs more than
many a request. Four of Flower's six are for requests of its Control API, or for plugins that a SuperLink need not have.
"""

import importlib
from collections.abc import Callable, MutableMapping
from typing import Any, ClassVar

from pfedgp.processes.whole_bodies import Receive, Send
from pfedgp_core.patch import Patch, lacks

__all__ = ["ShortWays"]

_LAYERS = "flwr.superlink.routers.control.middlewares"
_CONTROL, _PLUGIN = "/v1/control/", "_license_plugin"

Scope = MutableMapping[str, Any]


def _is_control(_: Any, scope: Scope) -> bool:
    return str(scope["path"]).startswith(_CONTROL)


def _has_license(layer: Any, scope: Scope) -> bool:
    return getattr(layer, _PLUGIN, layer) is not None and _is_control(layer, scope)


def _has_event_log(_: Any, scope: Scope) -> bool:
    return getattr(scope["app"].state, "control_event_log_plugin", None) is not None


# When a layer does something, as it says itself.
NEEDED: dict[str, Callable[[Any, Scope], bool]] = {
    "ControlSensitiveResponseMiddleware": _is_control,
    "ControlAuthenticationMiddleware": _is_control,
    "ControlLicenseMiddleware": _has_license,
    "ControlEventLogMiddleware": _has_event_log,
}


class ShortWays(Patch):
    """Lets requests pass by layers of the SuperLink's HTTP app.

    Parameters
    ----------
    layers : module, optional
        With the classes in `NEEDED`; Flower's by default.
    """

    name: ClassVar = "short-ways"
    purpose: ClassVar = "a request of a server app takes no way through what is for the Control API alone"

    def __init__(self, layers: Any = None) -> None:
        self._layers = layers

    def missing(self) -> str:
        """Which of the layers is gone."""
        parts = [lacks(_LAYERS, f"{name}.dispatch", {"request", "call_next"}) for name in NEEDED]
        return next(filter(None, parts), "")

    def apply(self) -> None:
        """Replace how each layer is called."""
        layers: Any = self._layers or importlib.import_module(_LAYERS)
        for name, needed in NEEDED.items():
            _shorten(getattr(layers, name), needed)


def _shorten(layer: Any, needed: Callable[[Any, Scope], bool]) -> None:
    whole = layer.__call__

    async def call(self: Any, scope: Scope, receive: Receive, send: Send) -> None:
        way = whole if scope["type"] == "http" and needed(self, scope) else _below
        await way(self, scope, receive, send)

    layer.__call__ = call


async def _below(self: Any, scope: Scope, receive: Receive, send: Send) -> None:
    await self.app(scope, receive, send)
