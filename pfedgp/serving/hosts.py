"""The names under which a command answers over HTTP; requests under others are refused.

A web page can have a name of its own point to this machine: its scripts then count as of one origin with what answers
here (DNS rebinding).
"""

import ipaddress
from collections.abc import Collection, Mapping

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pfedgp.operator.addresses import is_loopback
from pfedgp_core.words import cut

__all__ = ["KnownHosts", "host_names"]


def host_names(host: str, more: Collection[str] = ()) -> frozenset[str]:
    """The names under which a command answers.

    Parameters
    ----------
    host : str
        That it listens on.
    more : collection of str
        Names that the operator has given, or that the certificate is for.
    """
    loopback = ("localhost", "127.0.0.1", "::1") if is_loopback(host) or host in ("0.0.0.0", "::") else ()
    return frozenset(_plain(name) for name in (host, *loopback, *more))


class KnownHosts:
    """Lets requests under known names reach an application, and refuses others before anything else is looked at.

    Parameters
    ----------
    app : ASGIApp
    hosts : collection of str
        Of `host_names`.
    headers : mapping of str to str
        Of a refusal.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str], headers: Mapping[str, str] | None = None) -> None:
        self._app, self._hosts, self._headers = app, hosts, headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        given = Headers(scope=scope).get("host", "") if scope["type"] == "http" else ""
        if scope["type"] != "http" or _plain(given) in self._hosts:
            await self._app(scope, receive, send)
            return
        text = (
            f"Nothing answers here under the name {cut(given, 60)!r}: use the address of this machine that the command "
            "printed, or start it with --allow-host NAME."
        )
        await JSONResponse({"error": text}, 421, self._headers)(scope, receive, send)


def _plain(host: str) -> str:
    """A host as it is compared: without a port, brackets and case."""
    name = host.strip().lower()
    if name.startswith("["):
        name = name[1:].partition("]")[0]
    elif name.count(":") == 1:
        name = name.partition(":")[0]
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return name.removesuffix(".")
