"""Files that change while they are looked at: lines that are added, and contents that are replaced."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Generic, TypeVar

from pfedgp_core.errors import MissingFileError, PFedGPError, UnreadableFileError
from pfedgp_core.files.regular import open_regular

__all__ = ["GrowingLines", "Kept"]

PIECE = 16 * 1024**2  # bytes that are read at a time
_Content = TypeVar("_Content")


class GrowingLines:
    """The lines of a file that only grows, until it is cut or replaced.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._inode, self._offset, self._last = -1, 0, b""

    def read(self, begin: Callable[[], None]) -> Iterator[bytes]:
        """Yield whole lines that are new since the last call, without their ends.

        Parameters
        ----------
        begin : callable
            Called before the first line of a file that begins anew: what came from the former one is void.
        """
        try:
            with open_regular(self._path) as file:
                about = os.fstat(file.fileno())
                if about.st_ino != self._inode or about.st_size < self._offset or not self._goes_on(file.fileno()):
                    self._forget()
                    begin()
                self._inode = about.st_ino
                while content := os.pread(file.fileno(), PIECE, self._offset):
                    end = content.rfind(b"\n") + 1
                    if not end and len(content) < PIECE:
                        return  # half a line, which is still being written
                    piece = content[: end or PIECE]
                    self._offset += len(piece)
                    self._last = piece[-min(len(piece), 64) :]
                    yield from piece.removesuffix(b"\n").split(b"\n")
        except (UnreadableFileError, OSError):
            if self._offset:
                self._forget()
                begin()

    def _goes_on(self, handle: int) -> bool:
        """Whether the end of what was read is still there."""
        return os.pread(handle, len(self._last), self._offset - len(self._last)) == self._last

    def _forget(self) -> None:
        self._inode, self._offset, self._last = -1, 0, b""


class Kept(Generic[_Content]):
    """What a function makes of a file, made again only where the file is another one.

    Parameters
    ----------
    path : Path
    read : callable
        Takes the path; a PFedGPError of it stands for a file that cannot be read.

    Attributes
    ----------
    damage : str
        Why the file that is there cannot be read; empty where it can, or where there is none.
    """

    def __init__(self, path: Path, read: Callable[[Path], _Content]) -> None:
        self._path, self._read = path, read
        self._stamp: tuple[int, int, int] | None = None
        self._content: _Content | None = None
        self.damage = ""

    @property
    def changed(self) -> float:
        """When the file was changed, in Unix time; 0 where there is none."""
        return self._stamp[1] / 1e9 if self._stamp else 0.0

    def get(self) -> _Content | None:
        """The content; None where there is none that can be read."""
        try:
            about = self._path.stat()
        except (OSError, ValueError):
            self._stamp, self._content, self.damage = None, None, ""
            return None
        stamp = about.st_ino, about.st_mtime_ns, about.st_size
        if stamp != self._stamp:
            self._stamp, self._content, self.damage = stamp, None, ""
            try:
                self._content = self._read(self._path)
            except MissingFileError:
                self._stamp = None
            except UnreadableFileError as error:
                self.damage = error.reason
            except PFedGPError as error:
                self.damage = str(error)
        return self._content
