"""Adding lines to an audit log: by several processes, kept through kills, in files of bounded size."""

import fcntl
import hashlib
import json
import math
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pfedgp_core.audit.line import DAMAGED, FIRST, LONGEST, TORN, line_of, parse_line
from pfedgp_core.checks import count, text
from pfedgp_core.errors import ArtefactError, UnreadableFileError
from pfedgp_core.files.json_file import read_object
from pfedgp_core.files.private import private_folder
from pfedgp_core.files.regular import MalformedError, decoding, open_regular
from pfedgp_core.files.whole import explained

__all__ = ["CURRENT", "FOLDER", "HEAD", "AuditLog", "Entry", "head_of", "log_files", "most_lines"]

FOLDER, CURRENT, HEAD, LOCK = "audit", "audit.jsonl", "head.json", "lock"
FILE_BYTES = 16_000_000  # after which a file is closed and another one begun
HEAD_BYTES = 128  # of the file of the head, whatever the number
PATIENCE = 10.0  # seconds for another process to be done
Entry = tuple[str, Mapping[str, Any]]


class AuditLog:
    """The log in a folder, which is made with the first line.

    Parameters
    ----------
    folder : Path
    durable : bool (default: True)
        Whether a line outlasts a power failure once it is added, and not only the end of the process.
    most : int
        Bytes of a file; a line more than that begins another one.
    """

    def __init__(self, folder: Path, durable: bool = True, most: int = FILE_BYTES) -> None:
        self.folder, self.durable, self._most = folder, durable, most
        self._ours: tuple[int, int, int, str] | None = None  # file, size, number and hash after the last line of ours

    def add(self, *entries: Entry) -> None:
        """Add lines, each an event and its fields.

        A line that a kill has cut stays as it is, and the next line says so. Where lines are gone that were there, the
        next line says that as well; verification then fails for good.

        Raises
        ------
        ArtefactError
            They cannot be written.
        """
        private_folder(self.folder, (CURRENT, HEAD, LOCK))
        with self._locked(), explained(self.folder):
            path = self.folder / CURRENT
            number, previous, cut, ended = self._known(path) or self._last(path)
            noted = head_of(self.folder)[0]
            gone = noted > number or number > most_lines(self.folder)
            if cut or gone:
                about = {"bytes": len(cut), "sha256": hashlib.sha256(cut).hexdigest(), "noted": noted}
                entries = ((DAMAGED if gone else TORN, about), *entries)
            if noted == 0:  # no more lines than these may be here without a head of theirs, after a kill
                self._note_head(0, FIRST, to=number + len(entries))
            lines: list[bytes] = [] if ended else [b"\n"]
            for event, fields in entries:
                number += 1
                line, previous = line_of(number, previous, event, fields)
                lines.append(line)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                _write_all(handle, b"".join(lines))
                if self.durable:
                    os.fsync(handle)
                about_file = os.fstat(handle)
            finally:
                os.close(handle)
            self._note_head(number, previous)
            self._ours = about_file.st_ino, about_file.st_size, number, previous
            if about_file.st_size > self._most:
                os.rename(path, self.folder / f"audit-{number:012}.jsonl")

    def _known(self, path: Path) -> tuple[int, str, bytes, bool] | None:
        """What `_last` gives, where nobody has written since this object did."""
        if self._ours is None or not path.exists():
            return None
        about = path.stat()
        file, size, number, previous = self._ours
        return (number, previous, b"", True) if (about.st_ino, about.st_size) == (file, size) else None

    def _last(self, path: Path) -> tuple[int, str, bytes, bool]:
        """Number and hash of the last line, what lies behind it, and whether that ends with a newline."""
        tail = _tail(path)
        ended = not tail or tail.endswith(b"\n")
        lines = tail.removesuffix(b"\n").split(b"\n") if tail else []
        for i in range(len(lines) - 1, -1, -1):
            try:
                last = parse_line(lines[i])
            except MalformedError:
                continue
            return last["n"], last["hash"], b"\n".join(lines[i + 1 :]), ended
        if before := [file for file in log_files(self.folder) if file != path]:
            last_of = _tail(before[-1]).removesuffix(b"\n").rpartition(b"\n")[2]
            with suppress(MalformedError):
                last = parse_line(last_of)
                return last["n"], last["hash"], b"\n".join(lines), ended
        return 0, FIRST, b"\n".join(lines), ended

    def _note_head(self, number: int, digest: str, to: int | None = None) -> None:
        """Write the head in place, in one piece; after a power failure it may be that of a line before.

        Before the first lines it is that of none, and notes `to` which number they go.
        """
        about = {"n": number, "hash": digest} | ({} if to is None else {"to": to})
        content = json.dumps(about).ljust(HEAD_BYTES - 1) + "\n"
        handle = os.open(self.folder / HEAD, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.pwrite(handle, content.encode(), 0)
        finally:
            os.close(handle)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Wait for other processes; a lock that its process id is written into costs milliseconds on a journal."""
        deadline = time.monotonic() + PATIENCE
        handle = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise ArtefactError(
                            f"Another process holds the audit log {self.folder} for over {PATIENCE:g} s: end it."
                        ) from None
                    time.sleep(0.005)
            yield
        finally:
            os.close(handle)


def head_of(folder: Path) -> tuple[int, str]:
    """Number and hash of the last line as they are noted beside the log; 0 and `FIRST` where nothing readable is."""
    return _read_head(folder)[:2]


def most_lines(folder: Path) -> float:
    """Up to which number there may be lines, by what is noted beside the log: 0 where nothing readable is.

    Lines behind a noted one may be of a writer that was killed, as many as there are; before any is noted, they are the
    first ones, whose number is noted before they are written.
    """
    number, _, first = _read_head(folder)
    return math.inf if number else first


def _read_head(folder: Path) -> tuple[int, str, int]:
    try:
        about = read_object(folder / HEAD)
        return count(about["n"]), text(about["hash"]), count(about.get("to", 0))
    except (UnreadableFileError, KeyError, TypeError, ValueError):
        return 0, FIRST, 0


def log_files(folder: Path) -> list[Path]:
    """The files of a log, oldest first."""
    closed = sorted(folder.glob("audit-*.jsonl"))
    return [*closed, *(path for path in [folder / CURRENT] if path.exists())]


def _tail(path: Path) -> bytes:
    """The end of a file, in which the last line is whole if it is; nothing of a file that there is not."""
    if not path.exists():
        return b""
    with open_regular(path) as file, decoding(path):
        length = os.fstat(file.fileno()).st_size
        file.seek(max(0, length - 2 * LONGEST))
        return file.read()


def _write_all(handle: int, content: bytes) -> None:
    while content:
        content = content[os.write(handle, content) :]
