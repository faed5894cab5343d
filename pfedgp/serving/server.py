"""The web server of a command that answers over HTTP: uvicorn, with bounds on what a connection may ask for."""

import socket
import ssl
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from pfedgp_core.errors import ConfigError

if TYPE_CHECKING:
    from fastapi import FastAPI

__all__ = ["listen", "make_server"]

CONNECTIONS = 64
HEADERS = 16_384  # bytes of the headers of a request
GRACE = 10  # seconds in which requests may end after SIGTERM


def listen(host: str, port: int) -> "closing[socket.socket]":
    """A socket that listens.

    Raises
    ------
    ConfigError
        The address is not one of this machine, or is in use.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return closing(socket.create_server((host, port), family=family))
    except OSError as error:
        raise ConfigError(
            f"Cannot listen on {host}, port {port} ({error.strerror or error}): choose another with --host and --port."
        ) from error


def make_server(app: "FastAPI", certificate: Path | None, key: Path | None) -> uvicorn.Server:
    """The server, ready to run.

    Parameters
    ----------
    app : FastAPI
    certificate, key : Path or None
        For HTTPS; without them, HTTP.

    Raises
    ------
    ConfigError
        Certificate and key cannot be used.
    """
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        log_level="critical",  # what goes wrong is answered, and said in one line by the application
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=GRACE,
        h11_max_incomplete_event_size=HEADERS,
        ssl_certfile=None if certificate is None else certificate.expanduser(),
        ssl_keyfile=None if key is None else str(key.expanduser()),
        ssl_keyfile_password="",  # otherwise a locked key would be asked about on the terminal
    )
    try:
        config.load()
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"--certificate {certificate} and --key {key} cannot be used ({error.strerror or error}): give a "
            "certificate and its private key in PEM, which this user may read."
        ) from error
    return uvicorn.Server(config)
