"""Lines between the driver of a pool and its workers: two pipes, wide enough that a model goes through at once.

A socket holds about 200 kB: a message of 0.5 MB wakes both ends several times, which costs more than to pickle it.
"""

import fcntl
import os
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

__all__ = ["Line", "make_line"]

WIDTH = 1 << 20  # bytes; what an ordinary user may ask for on Linux


class Line:
    """One end of a line.

    Parameters
    ----------
    read, write : int
        File descriptors, which it closes.
    """

    def __init__(self, read: int, write: int) -> None:
        self._read = Connection(read, writable=False)
        self._write = Connection(write, readable=False)

    def files(self) -> tuple[int, int]:
        """The file descriptors: to read, to write."""
        return self._read.fileno(), self._write.fileno()

    def send(self, what: Any) -> None:
        """Hand something to the other end; OSError where that is closed."""
        self._write.send(what)

    def recv(self) -> Any:
        """Wait for what the other end sends; EOFError where that is closed."""
        return self._read.recv()

    def close(self) -> None:
        """Close this end."""
        for connection in (self._read, self._write):
            with suppress(OSError):
                connection.close()


def make_line() -> tuple[Line, Line]:
    """Both ends of a new line."""
    there, here = os.pipe(), os.pipe()
    for _, write in (there, here):
        # Linux alone has wide pipes, and a user has them up to a bound; a narrow one serves as well.
        with suppress(OSError, AttributeError):
            fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, WIDTH)
    return Line(here[0], there[1]), Line(there[0], here[1])
