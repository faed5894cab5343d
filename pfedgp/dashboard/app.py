"""The web application of the operator's page: the page, a snapshot as JSON, and metrics. Nothing can be changed by it.

The page itself holds no data and needs no token; it asks for the token and sends it as a header. Every refusal is JSON
with one sentence: ``{"error": "..."}``.
"""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException as AnyHTTPException

from pfedgp.dashboard.metrics import CONTENT_TYPE, exposition
from pfedgp.dashboard.page import PAGE, POLICY
from pfedgp.dashboard.watch import Watch
from pfedgp.serving.bearer import bearer_check
from pfedgp.serving.hosts import KnownHosts
from pfedgp_core.words import cut

__all__ = ["STATE_PATH", "make_app"]

STATE_PATH = "/state.json"
FRESH = 1.5  # seconds for which a snapshot serves all who ask
PATIENCE = 30.0  # seconds for a snapshot
PARAMETERS = (
    "Nothing here takes parameters. A token that stood in an address is in histories and logs now: remove its file, so "
    "that a new one is made, and send it as 'Authorization: Bearer TOKEN'."
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def make_app(watch: Watch, token: str, hosts: Collection[str]) -> FastAPI:
    """The application.

    Parameters
    ----------
    watch : Watch
    token : str
        Without it, snapshot and metrics are not given.
    hosts : collection of str
        Of `pfedgp.serving.hosts.host_names`.
    """
    app = FastAPI(title="pFedGP", openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    snapshots = _Snapshots(watch)
    authorised = [Depends(bearer_check(token, "the dashboard's"))]

    @app.middleware("http")
    async def guard(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
        response = _error(PARAMETERS, 400) if request.url.query else await answer(request)
        response.headers.update(HEADERS)
        return response

    app.add_middleware(KnownHosts, hosts=hosts, headers=HEADERS)  # what is added last is asked first

    @app.get("/")
    async def page() -> HTMLResponse:
        return HTMLResponse(PAGE)

    @app.get(STATE_PATH, dependencies=authorised)
    async def state() -> JSONResponse:
        return JSONResponse((await snapshots.get())[0])

    @app.get("/metrics", dependencies=authorised)
    async def metrics() -> Response:
        return Response((await snapshots.get())[1], media_type=CONTENT_TYPE)

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.exception_handler(AnyHTTPException)
    async def of_http(request: Request, error: AnyHTTPException) -> JSONResponse:
        known = {
            404: f"There is nothing at {cut(request.url.path, 60)}: the page is at /.",
            405: "This page can only be read: use GET.",
        }
        text = known.get(error.status_code, str(error.detail))
        return _error(text, error.status_code, dict(error.headers or {}))

    return app


class _Snapshots:
    """One look at a time, in a thread of its own, for all who ask meanwhile."""

    def __init__(self, watch: Watch) -> None:
        self._watch, self._thread = watch, ThreadPoolExecutor(1)
        self._made: asyncio.Future[tuple[dict[str, Any], bytes]] | None = None
        self._when = 0.0

    async def get(self) -> tuple[dict[str, Any], bytes]:
        """A snapshot and its metrics, at most `FRESH` seconds old where that can be had."""
        if self._made is None or (self._made.done() and time.monotonic() - self._when > FRESH):
            self._made = asyncio.get_running_loop().run_in_executor(self._thread, self._look)
        try:
            return await asyncio.wait_for(asyncio.shield(self._made), PATIENCE)
        except TimeoutError:
            raise HTTPException(503, "The server takes long to answer: try again.", {"Retry-After": "10"}) from None
        except Exception as error:  # noqa: BLE001 (the page says so, and the next look may be better)
            print(f"pfedgp: Unexpected {type(error).__name__}: {cut(error, 300)}", file=sys.stderr, flush=True)
            raise HTTPException(500, "The state could not be read; this command's own output says why.") from None

    def _look(self) -> tuple[dict[str, Any], bytes]:
        try:
            snapshot = self._watch.look()
            return snapshot, exposition(snapshot, self._watch.found)
        finally:
            self._when = time.monotonic()


def _error(text: str, status: int, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": text}, status, headers)
