"""Large objects as files, each named by its hash, which a server app and its SuperLink on one machine hand over.

The SuperLink keeps the files. A server app that sees the folder offers an object by a file beside them, which the
SuperLink adopts once it has found that the content has that hash, and reads what the SuperLink keeps. A file appears
whole. It need not outlast a power failure: an object is wanted for as long as its run lives, and one whose content is
not what its name says counts as gone, upon which the message is asked for again.
"""

import hashlib
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["ObjectFiles", "has_hash", "is_id", "offer", "read", "write_object"]

_ID = re.compile(r"[0-9a-f]{64}")
_OFFER = ".offer"


def offer(folder: Path, object_id: str, content: bytes) -> None:
    """Lay an object where the SuperLink that keeps this folder adopts it; OSError where it cannot be written."""
    write_object(folder / f"{_checked(object_id)}{_OFFER}", content)


def read(folder: Path, object_id: str) -> bytes | None:
    """The content of an object that the SuperLink keeps; None where it is not there."""
    try:
        return (folder / _checked(object_id)).read_bytes()
    except OSError:
        return None


class ObjectFiles:
    """The files of one SuperLink.

    Parameters
    ----------
    folder : Path
        There already, and of nobody else.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._known = set[str]()  # those whose content this process has seen
        self._busy = Counter[str]()

    def sweep(self, wanted: Callable[[str], bool]) -> None:
        """Remove what a former process has left and nobody asks for; before any other call."""
        for path in self.folder.iterdir():
            # A folder is not ours: a disk that is mounted here has one, lost+found.
            if not path.is_dir() and not (_ID.fullmatch(path.name) and wanted(path.name)):
                path.unlink(missing_ok=True)

    @contextmanager
    def storing(self, object_id: str, wanted: Callable[[], bool]) -> Iterator[None]:
        """Within this an object is written; where nobody wants it afterwards, its file is removed."""
        with self._lock:
            self._busy[object_id] += 1
        try:
            yield
        finally:
            unwanted = not wanted()
            with self._lock:
                self._busy[object_id] -= 1
                if not self._busy[object_id]:
                    del self._busy[object_id]
                    if unwanted:
                        self.remove(object_id)

    def keep(self, object_id: str, content: bytes) -> bool:
        """Write an object, unless its content has another hash; whether it is there."""
        if not (_ID.fullmatch(object_id) and has_hash(object_id, content)):
            return False
        if object_id not in self._known:
            write_object(self.folder / object_id, content)
            self._known.add(object_id)
        return True

    def adopt(self, object_id: str, sound: Callable[[bytes], bool]) -> bool:
        """Keep what was offered, where it has that hash and is `sound`; whether it is there."""
        path = self.folder / f"{_checked(object_id)}{_OFFER}"
        with suppress(OSError):
            content = path.read_bytes()
            if has_hash(object_id, content) and sound(content):
                os.replace(path, self.folder / object_id)
                self._known.add(object_id)
            path.unlink(missing_ok=True)
        return object_id in self._known

    def has(self, object_id: str) -> bool:
        """Whether this process has seen the content of such an object."""
        return object_id in self._known

    def exists(self, object_id: str) -> bool:
        """Whether there is such a file."""
        return object_id in self._known or bool(_ID.fullmatch(object_id) and (self.folder / object_id).exists())

    def read(self, object_id: str) -> bytes | None:
        """Its content; None where it is gone, or is not what was written."""
        content = read(self.folder, object_id)
        if content is None or object_id in self._known:
            return content
        if not has_hash(object_id, content):
            return None
        self._known.add(object_id)
        return content

    def remove(self, object_id: str) -> None:
        """Forget an object, if it is there."""
        self._known.discard(object_id)
        if _ID.fullmatch(object_id):
            (self.folder / object_id).unlink(missing_ok=True)


def write_object(path: Path, content: bytes) -> None:
    """Write a file of its owner's alone that appears whole; OSError where it cannot be written."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.partial")
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)
        os.replace(partial, path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def _checked(object_id: str) -> str:
    """An id that is a name of a file in the folder and nothing else."""
    if not _ID.fullmatch(object_id):
        raise FileNotFoundError(object_id)
    return object_id


def is_id(object_id: str) -> bool:
    """Whether this is the id of an object, and so the name of a file in its folder."""
    return bool(_ID.fullmatch(object_id))


def has_hash(object_id: str, content: bytes) -> bool:
    """Whether an object's id is the hash of this content."""
    return hashlib.sha256(content).hexdigest() == object_id
