"""The files of messages under way: a tree for each, with its run, and the content of each small object.

A file appears whole. It need not outlast a power failure, which ends the server app too: each says by a hash whether it
is what was written, and one that is not counts as gone. Links are not followed.
"""

import hashlib
import os
import shutil
import stat
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from pfedgp_core.files.object_files import has_hash, write_object

__all__ = ["MessageFiles"]

_TREE = ".tree"
_HASH, _RUN = 32, 8  # bytes before a tree: the hash of all that follows, the id of its run


class MessageFiles:
    """The files of one SuperLink; OSError where one cannot be written.

    Parameters
    ----------
    folder : Path
        There already, and of nobody else.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write_tree(self, run_id: int, tree: Any) -> None:
        """Note a message."""
        content = run_id.to_bytes(_RUN, "big") + tree.SerializeToString()
        self._write(f"{tree.object_id}{_TREE}", hashlib.sha256(content).digest() + content)

    def remove_tree(self, object_id: str) -> None:
        """Forget a message; what is below it may still be there."""
        _remove(self.folder / f"{object_id}{_TREE}")

    def trees(self) -> Iterator[tuple[str, int, Any]]:
        """The name of each message's file, its run, and its tree."""
        from flwr.proto.message_pb2 import ObjectTree

        for path in sorted(self.folder.glob(f"*{_TREE}")):
            try:
                found = _content(path)
                content = found[_HASH:]
                if hashlib.sha256(content).digest() == found[:_HASH]:
                    yield path.name, int.from_bytes(content[:_RUN], "big"), ObjectTree.FromString(content[_RUN:])
            except OSError:
                continue

    def write(self, object_id: str, content: bytes) -> None:
        """Keep the content of an object."""
        self._write(object_id, content)

    def read(self, object_id: str) -> bytes | None:
        """The content of an object; None where it is gone, or is not what was written."""
        try:
            content = _content(self.folder / object_id)
        except OSError:
            return None
        return content if has_hash(object_id, content) else None

    def size(self, object_id: str) -> int:
        """How many bytes that has; 0 where it is gone."""
        try:
            found = (self.folder / object_id).lstat()
        except OSError:
            return 0
        return found.st_size if stat.S_ISREG(found.st_mode) else 0

    def remove(self, object_id: str) -> None:
        """Forget the content of an object, if it is there."""
        _remove(self.folder / object_id)

    def sweep(self, wanted: Collection[str]) -> None:
        """Remove all but these files."""
        for path in self.folder.iterdir():
            # A folder is not ours: a disk that is mounted here has one, lost+found.
            if path.name not in wanted and not path.is_dir():
                path.unlink(missing_ok=True)

    def _write(self, name: str, content: bytes) -> None:
        path = self.folder / name
        try:
            try:
                write_object(path, content)
            except IsADirectoryError:
                _remove(path)
                write_object(path, content)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            told = f"{reason}: make room and rights there for messages under way"
            raise OSError(error.errno, told, str(self.folder)) from error


def _content(path: Path) -> bytes:
    """What a file has that is no link; a pipe is not waited for, and has nothing."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK)) as file:
        return file.read()


def _remove(path: Path) -> None:
    """Remove what has a name that is ours, whatever it is."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
