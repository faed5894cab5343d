"""Python objects over a socket between two processes of this site: a length, then a pickle.

Only for a socket pair whose both ends are our own: the writer of a pickle decides what its reader runs.
"""

import pickle
import socket
import struct
from typing import Any

__all__ = ["receive", "send"]

_LENGTH = struct.Struct("!Q")


def send(connection: socket.socket, value: Any) -> None:
    """Write one object; OSError where the other side is gone, TimeoutError after the socket's timeout."""
    content = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    connection.sendall(_LENGTH.pack(len(content)))
    connection.sendall(content)


def receive(connection: socket.socket) -> Any:
    """Read one object.

    Raises
    ------
    EOFError
        The other side closed the socket, between two objects or within one.
    TimeoutError
        Nothing arrived within the socket's timeout.
    """
    (length,) = _LENGTH.unpack(_exactly(connection, _LENGTH.size))
    return pickle.loads(_exactly(connection, length))  # noqa: S301 (both ends are this site's)


def _exactly(connection: socket.socket, size: int) -> bytearray:
    content = bytearray(size)
    left = memoryview(content)
    while left:
        read = connection.recv_into(left)
        if not read:
            raise EOFError("the other side closed the connection")
        left = left[read:]
    return content
