"""Lines between the driver of a pool and its workers: two pipes for messages, and a shelf for what is long in them.

A vector of 0.5 MB that goes through a pipe is copied by both ends and twice by the system, which finds and frees the
pages of each copy. In memory that both ends share it is copied once by each. One end asks and the other answers, so
what lies on the shelf is taken before something else is put there.
"""

import fcntl
import io
import mmap
import os
import pickle
import tempfile
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

__all__ = ["Line", "make_line"]

WIDTH = 1 << 20  # bytes of a pipe; what an ordinary user may ask for on Linux
LONG = 1 << 14  # bytes from which a value is put on the shelf
SHELF = 1 << 24  # bytes each way; memory is taken for what has been in use alone


class Line:
    """One end of a line.

    Parameters
    ----------
    read, write, shared : int
        File descriptors, which it closes: of both pipes, and of a file of ``2 * SHELF`` bytes.
    first : bool
        Whether this end puts what it sends on the first half of the shelf.
    """

    def __init__(self, read: int, write: int, shared: int, first: bool) -> None:
        self._read, self._write = Connection(read, writable=False), Connection(write, readable=False)
        self._shared, self._shelf = shared, mmap.mmap(shared, 2 * SHELF)
        self._put_from, self._take_from = (0, SHELF) if first else (SHELF, 0)

    def files(self) -> tuple[int, int, int]:
        """The file descriptors: to read, to write, of the shelf."""
        return self._read.fileno(), self._write.fileno(), self._shared

    def send(self, what: Any) -> None:
        """Hand something to the other end, which has taken what came before; OSError where that is closed."""
        packed = io.BytesIO()
        _Packer(packed, self._shelf, self._put_from).dump(what)
        self._write.send_bytes(packed.getbuffer())

    def recv(self) -> Any:
        """Wait for what the other end sends; EOFError where that is closed."""
        return _Unpacker(io.BytesIO(self._read.recv_bytes()), self._shelf, self._take_from).load()

    def close(self) -> None:
        """Close this end."""
        for part in (self._read, self._write, self._shelf):
            with suppress(OSError):
                part.close()
        if self._shared >= 0:
            os.close(self._shared)
            self._shared = -1


class _Packer(pickle.Pickler):
    """Pickles, and puts long values on a shelf as long as there is room."""

    def __init__(self, file: io.BytesIO, shelf: mmap.mmap, start: int) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._shelf, self._start, self._used = shelf, start, 0

    def persistent_id(self, value: Any) -> tuple[int, int] | None:
        if type(value) is not bytes or not LONG <= len(value) <= SHELF - self._used:
            return None
        place, self._used = self._used, self._used + len(value)
        self._shelf[self._start + place : self._start + self._used] = value
        return place, len(value)


class _Unpacker(pickle.Unpickler):
    """The other end of a `_Packer`."""

    def __init__(self, file: io.BytesIO, shelf: mmap.mmap, start: int) -> None:
        super().__init__(file)
        self._shelf, self._start = shelf, start

    def persistent_load(self, where: tuple[int, int]) -> bytes:
        place, length = where
        return self._shelf[self._start + place : self._start + place + length]


def make_line() -> tuple[Line, Line]:
    """Both ends of a new line."""
    there, here = os.pipe(), os.pipe()
    for _, write in (there, here):
        # Linux alone has wide pipes, and a user has them up to a bound; a narrow one serves as well.
        with suppress(OSError, AttributeError):
            fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, WIDTH)
    shared = _shared_file()
    return Line(here[0], there[1], shared, first=True), Line(there[0], here[1], os.dup(shared), first=False)


def _shared_file() -> int:
    """A file of ``2 * SHELF`` bytes without a name, in memory where the system has such files."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("pfedgp-shelf")
    else:
        with tempfile.TemporaryFile() as named:
            file = os.dup(named.fileno())
    os.ftruncate(file, 2 * SHELF)
    return file
