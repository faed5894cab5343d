"""The web application of a resident site: one endpoint for predictions, one for its health, and their description.

Every refusal is JSON with one sentence: ``{"error": "..."}``.
"""

import asyncio
import sys
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

from fastapi import Depends, FastAPI, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.requests import ClientDisconnect

from pfedgp import __version__
from pfedgp.serving.bearer import bearer_check
from pfedgp.serving.bodies import KINDS, kind_of
from pfedgp.serving.description import ANSWERS, BODY, PREDICT, TITLE, page
from pfedgp.serving.hosts import KnownHosts
from pfedgp.serving.work import Work
from pfedgp_core.errors import PFedGPError
from pfedgp_core.metrics.calibration import TEMPERATURE_LIMITS
from pfedgp_core.words import cut, size

__all__ = ["make_app"]

AT_ONCE = 8  # requests that are read or wait for their prediction
PARAMETERS = ("temperature", "min-confidence")
SECONDS = 30.0  # in which a body has to arrive
LOW, HIGH = TEMPERATURE_LIMITS


def make_app(work: Work, token: str, hosts: Collection[str], seconds: float = SECONDS) -> FastAPI:
    """The application of a site.

    Parameters
    ----------
    work : Work
        What it does.
    token : str
        Without it, no request but that for the health and the description is answered.
    hosts : collection of str
        Names under which it answers, of `pfedgp.serving.hosts.host_names`.
    seconds : float
        In which the body of a request has to arrive.
    """
    app = FastAPI(title=TITLE, version=__version__, docs_url=None, redoc_url=None)
    app.add_middleware(KnownHosts, hosts=hosts)
    places = _Places()
    # One thread: predictions take turns, and the memory of one of them is all that is needed.
    thread = ThreadPoolExecutor(1, initializer=_one_thread)

    @app.post(
        "/predict",
        summary="Class probabilities and uncertainty of samples",
        description=PREDICT,
        dependencies=[Depends(bearer_check(token, "the site's"))],
        openapi_extra={"requestBody": BODY},
        responses=ANSWERS,
    )
    async def predict(
        request: Request,
        temperature: Annotated[
            float | None, Query(ge=LOW, le=HIGH, description="of the probabilities; default: the model's")
        ] = None,
        min_confidence: Annotated[
            float, Query(alias="min-confidence", ge=0, le=1, description="abstain where the largest one is lower")
        ] = 0.0,
    ) -> Response:
        if unknown := sorted(request.query_params.keys() - set(PARAMETERS)):
            raise HTTPException(
                422, f"There is no parameter {cut(unknown[0], 40)!r}: give {' or '.join(PARAMETERS)}, or none."
            )
        kind = kind_of(request.headers.get("content-type"))
        if kind is None:
            raise HTTPException(415, f"Send a body of one of the types {', '.join(KINDS)}.")
        async with places:
            body = await _body(request, work.reader.most_bytes, seconds)
            as_csv = "text/csv" in request.headers.get("accept", "")
            make = work.as_csv if as_csv else work.as_json
            made = await asyncio.get_running_loop().run_in_executor(
                thread, make, kind, body, temperature, min_confidence
            )
        return PlainTextResponse(made, media_type="text/csv") if isinstance(made, str) else JSONResponse(made)

    @app.get("/health", summary="Whether the site answers")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        safe = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
        return HTMLResponse(page(app.openapi()), headers=safe)

    _explain_refusals(app)
    return app


class _Places:
    """Room for a few requests at once, so that bodies which wait do not fill the memory."""

    def __init__(self) -> None:
        self._taken = 0

    async def __aenter__(self) -> None:
        if self._taken >= AT_ONCE:
            raise HTTPException(503, f"{AT_ONCE} requests are under way: try again.", {"Retry-After": "1"})
        self._taken += 1

    async def __aexit__(self, *_: object) -> None:
        self._taken -= 1


async def _body(request: Request, most: int, seconds: float) -> bytes:
    too_large = HTTPException(413, f"The body has more than {size(most)}: send it in parts, or use pfedgp predict.")
    if int(request.headers.get("content-length", 0)) > most:
        raise too_large
    content = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for piece in request.stream():
                content += piece
                if len(content) > most:
                    raise too_large
    except TimeoutError:
        raise HTTPException(408, f"The body did not arrive within {seconds:g} seconds: send it again.") from None
    return bytes(content)


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)  # small matrices are several times slower on more


def _explain_refusals(app: FastAPI) -> None:
    @app.exception_handler(AnyHTTPException)
    async def of_http(request: Request, error: AnyHTTPException) -> JSONResponse:
        known = {404: f"There is nothing at {cut(request.url.path, 60)}: see /docs.", 405: "See /docs for the methods."}
        text = known.get(error.status_code, str(error.detail))
        return JSONResponse({"error": text}, error.status_code, dict(error.headers or {}))

    @app.exception_handler(RequestValidationError)
    async def of_parameters(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        text = f"The parameter {first['loc'][-1]} cannot be used ({first['msg']}): see /docs."
        return JSONResponse({"error": text}, 422)

    @app.exception_handler(PFedGPError)
    async def of_data(request: Request, error: PFedGPError) -> JSONResponse:
        return JSONResponse({"error": str(error)}, 400)

    @app.exception_handler(ClientDisconnect)
    async def of_nobody(request: Request, error: ClientDisconnect) -> JSONResponse:
        return JSONResponse({"error": "The body ended early."}, 400)

    @app.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> JSONResponse:
        print(f"pfedgp: Unexpected {type(error).__name__}: {cut(error, 300)}", file=sys.stderr, flush=True)
        return JSONResponse({"error": "The site could not answer; its own output says why."}, 500)
