"""The HTTP proxy that gRPC takes from the environment, often the reason why a site cannot connect."""

import base64
import os
import socket
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from pfedgp.doctor.problem import ProblemError

__all__ = ["Proxy", "open_tunnel", "proxy_for"]

# In gRPC's order.
VARIABLES = ("grpc_proxy", "https_proxy", "http_proxy")
EXCEPTIONS = ("no_grpc_proxy", "no_proxy")
LONGEST_ANSWER = 16384


class Proxy(NamedTuple):
    """An HTTP proxy and the environment variable that names it."""

    host: str
    port: int
    credentials: str
    variable: str

    def __str__(self) -> str:
        return f"{self.host}:{self.port} ({self.variable})"


def proxy_for(host: str) -> Proxy | None:
    """Return the proxy through which gRPC connects to a host, or None if it connects directly."""
    variable = next((name for name in VARIABLES if os.environ.get(name)), None)
    if variable is None:
        return None
    exceptions = next((os.environ[name] for name in EXCEPTIONS if os.environ.get(name)), "")
    if any(host.endswith(entry.strip()) for entry in exceptions.split(",") if entry.strip()):
        return None
    url = os.environ[variable]
    parts = urlsplit(url if "://" in url else f"http://{url}")
    user = unquote(f"{parts.username}:{parts.password or ''}") if parts.username else ""
    return Proxy(parts.hostname or "", parts.port or 80, user, variable)


def open_tunnel(connection: socket.socket, proxy: Proxy, host: str, port: int) -> None:
    """Ask a connected proxy to pass everything on to ``host:port``.

    Raises
    ------
    ProblemError
        The proxy does not.
    """
    name = f"[{host}]" if ":" in host else host
    lines = [f"CONNECT {name}:{port} HTTP/1.1", f"Host: {name}:{port}"]
    if proxy.credentials:
        lines.append(f"Proxy-Authorization: Basic {base64.b64encode(proxy.credentials.encode()).decode('ascii')}")
    try:
        connection.sendall("\r\n".join([*lines, "", ""]).encode("ascii"))
        answer = b""
        while b"\r\n\r\n" not in answer and len(answer) < LONGEST_ANSWER:
            received = connection.recv(4096)
            if not received:
                break
            answer += received
    except OSError:
        answer = b""
    status = answer.split(b"\r\n", 1)[0].decode("ascii", "replace")
    if len(status.split()) < 2 or not status.split()[1].startswith("2"):
        said = f"it answered {status[:60]!r}" if status else "it gave no answer"
        raise ProblemError(
            "proxy",
            f"The proxy {proxy} does not let this machine through to {host}:{port}: {said}.",
            f"Ask for CONNECT to port {port} to be allowed, or set no_grpc_proxy={host} to connect without the proxy.",
        )
