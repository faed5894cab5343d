"""Requests pass by the layers of the SuperLink's HTTP app that would do nothing for them, and by no other."""

import asyncio
import types
from typing import Any

import pytest
from flwr.superlink.routers.control import middlewares
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from pfedgp.processes.short_ways import NEEDED, ShortWays

RUNTIME, CONTROL, LOGIN = "/v1/runtime/pull-object", "/v1/control/list-nodes", "/v1/control/get-login-details"


@pytest.fixture
def layers() -> Any:
    """Copies of Flower's layers, each of which notes the requests that it has worked on."""
    copies = {name: type(name, (getattr(middlewares, name),), {"seen": []}) for name in NEEDED}
    for copy in copies.values():
        whole = copy.dispatch

        async def dispatch(self: Any, request: Any, call_next: Any, whole: Any = whole) -> Any:
            self.seen.append(request.url.path)
            return await whole(self, request, call_next)

        copy.dispatch = dispatch
    module = types.SimpleNamespace(**copies)
    ShortWays(module).apply()
    return module


def app_of(layers: Any) -> Starlette:
    routes = [Route(path, lambda request: PlainTextResponse("here"), methods=["POST"]) for path in (RUNTIME, LOGIN)]
    return Starlette(routes=routes, middleware=[Middleware(getattr(layers, name)) for name in NEEDED])


def seen(layers: Any) -> dict[str, list[str]]:
    return {name: getattr(layers, name).seen for name in NEEDED if getattr(layers, name).seen}


def test_a_request_of_a_server_app_passes_by_all_four(layers: Any) -> None:
    answer = TestClient(app_of(layers)).post(RUNTIME)
    assert (answer.status_code, answer.text) == (200, "here")
    assert seen(layers) == {}


def test_a_request_of_the_control_api_goes_through_what_is_for_it(layers: Any) -> None:
    answer = TestClient(app_of(layers)).post(LOGIN)
    assert (answer.text, answer.headers["Cache-Control"]) == ("here", "no-store")
    assert seen(layers) == {
        "ControlSensitiveResponseMiddleware": [LOGIN],
        "ControlAuthenticationMiddleware": [LOGIN],
    }


def test_who_is_not_authenticated_is_refused_as_before(layers: Any) -> None:
    with pytest.raises(Exception, match="account authentication is not initialized"):
        TestClient(app_of(layers)).post(CONTROL)


def test_plugins_are_asked(layers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = types.SimpleNamespace(check_license=lambda: True)
    monkeypatch.setattr(middlewares, "get_license_plugin", lambda: plugin)
    app = app_of(layers)
    app.state.control_event_log_plugin = plugin
    client = TestClient(app)
    client.post(RUNTIME)
    assert seen(layers) == {"ControlEventLogMiddleware": [RUNTIME]}
    client.post(LOGIN)
    assert all(getattr(layers, name).seen[-1] == LOGIN for name in NEEDED)


def test_what_is_no_request_goes_on(layers: Any) -> None:
    went: list[str] = []

    async def below(scope: Any, receive: Any, send: Any) -> None:
        went.append(scope["type"])

    for name in NEEDED:
        layer = getattr(layers, name)(below)
        asyncio.run(layer({"type": "lifespan"}, None, None))
    assert went == ["lifespan"] * len(NEEDED)


def test_flower_has_the_layers_and_they_are_of_the_kind_that_costs() -> None:
    assert ShortWays().missing() == ""
    assert all(issubclass(getattr(middlewares, name), BaseHTTPMiddleware) for name in NEEDED)
