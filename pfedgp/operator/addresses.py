"""Addresses of the form HOST:PORT: reading them, and whether a server can take them."""

import errno
import ipaddress
import re
import socket
import time

from pfedgp_core.errors import ConfigError, RunFailedError

__all__ = ["check_free", "is_loopback", "is_open", "join", "overlap", "parse_address", "reachable_as"]


def parse_address(text: str, option: str) -> tuple[str, int]:
    """Split ``HOST:PORT``; an IPv6 host stands in brackets.

    Raises
    ------
    ConfigError
        The text is of another form.
    """
    found = re.fullmatch(r"\[([0-9A-Fa-f:.]+)\]:(\d+)|([^\s:/\[\]]+):(\d+)", text)
    port = int((found[2] or found[4])[:6]) if found else 0
    if not found or not 1 <= port <= 65535:
        raise ConfigError(f"{option} {text!r} is not of the form HOST:PORT; give for example 192.0.2.10:9092.")
    return found[1] or found[3], port


def join(host: str, port: int) -> str:
    """Return ``HOST:PORT``."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether an address is only reachable from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def reachable_as(host: str) -> str:
    """The host under which this machine reaches a server that listens on `host`."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)


def overlap(one: tuple[str, int], other: tuple[str, int]) -> bool:
    """Whether only one of two servers, each at a host and port, could listen."""
    hosts = {"127.0.0.1" if host == "localhost" else host for host in (one[0], other[0])}
    return one[1] == other[1] and (len(hosts) == 1 or not hosts.isdisjoint({"0.0.0.0", "::"}))


def check_free(host: str, port: int, option: str, seconds: float = 0.0) -> None:
    """Find out whether a server can listen here.

    Parameters
    ----------
    host : str
    port : int
    option : str
        Which option gives them.
    seconds : float
        How long to wait for a port that is taken: a former server that was killed may still be about to leave it.

    Raises
    ------
    RunFailedError
        It cannot; the text says why.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise ConfigError(
            f"{option}: the host {host!r} cannot be found ({error.strerror}): give an address."
        ) from error
    deadline = time.monotonic() + seconds
    while True:
        try:
            with socket.socket(family, kind, protocol) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
            return
        except OSError as error:
            if error.errno == errno.EADDRINUSE and time.monotonic() < deadline:
                time.sleep(0.1)
                continue
            reason = {
                errno.EADDRINUSE: "another program listens there",
                errno.EADDRNOTAVAIL: "this machine does not have that address",
                errno.EACCES: "this user may not use that port",
            }.get(error.errno or 0, error.strerror)
            raise RunFailedError(f"Cannot listen on {join(host, port)}: {reason}; give another {option}.") from error


def is_open(host: str, port: int) -> bool:
    """Whether something accepts connections there."""
    try:
        with socket.create_connection((host, port), timeout=1.0):
            return True
    except OSError:
        return False
