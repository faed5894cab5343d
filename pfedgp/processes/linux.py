"""What the Linux kernel knows: who listens on a port, which processes live, whether the clock is synchronised."""

import ctypes
import ipaddress
from collections.abc import Iterable, Iterator
from typing import Any

import psutil

__all__ = ["clock_is_synchronised", "is_alive", "listening_on", "listens"]

_TIME_ERROR = 5


def listening_on(port: int) -> list[str] | None:
    """Return the addresses of this machine on which something listens at a TCP port; None if it cannot be told."""
    try:
        sockets = list(_listening(psutil.net_connections("tcp")))
    except (psutil.Error, OSError):
        return None
    return sorted({_address(host) for host, number in sockets if number == port})


def listens(pid: int, port: int) -> bool:
    """Whether it is this process that listens on a TCP port; True also where it cannot be told."""
    try:
        sockets = list(_listening(psutil.Process(pid).net_connections("tcp")))
    except (psutil.Error, OSError):
        return True
    return any(number == port for _, number in sockets)


def is_alive(pid: int, name: str) -> bool:
    """Whether a process lives and is the program of this name, not another one that has got its number."""
    try:
        return any(name in word for word in psutil.Process(pid).cmdline())
    except (psutil.Error, ValueError):
        return False


def clock_is_synchronised() -> bool | None:
    """Whether something, such as NTP, keeps this machine's clock right; None if it cannot be told."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "adjtimex"):
        return None
    # With the first field 0 the call only reads; the structure is shorter than this on every machine.
    answer = libc.adjtimex(ctypes.create_string_buffer(512))
    return None if answer < 0 else answer != _TIME_ERROR


def _listening(connections: Iterable[Any]) -> Iterator[tuple[str, int]]:
    """Address and port of each socket that listens."""
    for connection in connections:
        if connection.status == psutil.CONN_LISTEN:
            yield connection.laddr.ip, connection.laddr.port


def _address(text: str) -> str:
    """An address; that of IPv4 inside IPv6 as IPv4."""
    address = ipaddress.ip_address(text)
    return str(getattr(address, "ipv4_mapped", None) or address)
