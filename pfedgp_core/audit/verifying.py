"""Verification of an audit log: every line in its place and unchanged, none missing; a cut last line is named."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pfedgp_core.audit.line import DAMAGED, FIRST, TORN, parse_line
from pfedgp_core.audit.log import CURRENT, FOLDER, HEAD, head_of, log_files, most_lines
from pfedgp_core.errors import DataError, PFedGPError
from pfedgp_core.files.regular import MalformedError, decoding, one_line, open_regular

__all__ = ["Verified", "log_folder", "read_lines", "verify"]

MOST_FAULTS = 20


@dataclass
class Verified:
    """What a verification found.

    Attributes
    ----------
    lines : int
        Lines that are as they were written.
    first, last : int
        Numbers of the first and the last of them; 0 where there is none.
    head : str
        Hash of the last one, to be noted elsewhere.
    faults : list of str
        What is wrong, at most `MOST_FAULTS`; none where the log is whole.
    torn : list of str
        Lines that a kill has cut, in words; no fault.
    """

    lines: int = 0
    first: int = 0
    last: int = 0
    head: str = FIRST
    faults: list[str] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)

    def fault(self, what: str) -> None:
        """Note what is wrong."""
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(what)


def log_folder(state: Path) -> Path:
    """The folder of a log: that of a state folder, a run's folder, or itself. DataError where there is none."""
    for folder in (state / FOLDER, state):
        if log_files(folder) or (folder / HEAD).exists():
            return folder
    raise DataError(f"{state} holds no audit log: give the state folder of a site or a server, or the folder of a run.")


def read_lines(folder: Path) -> Iterator[tuple[str, bytes]]:
    """The lines of a log with their places, ``file:line``; an end that is cut comes without its newline.

    Raises
    ------
    UnreadableFileError
        A file is none that can be read.
    """
    for path in log_files(folder):
        with open_regular(path) as file, decoding(path):
            for number, line in enumerate(file, 1):
                yield f"{path.name}:{number}", line


def verify(folder: Path, known: tuple[int, str] | None = None, archived: bool = False) -> Verified:
    """Go through a log.

    Parameters
    ----------
    folder : Path
    known : tuple of int and str, optional
        Number and hash of a line that was noted elsewhere and has to be there.
    archived : bool (default: False)
        Whether the oldest files may lie elsewhere.
    """
    walk = _Walk(archived, [*([known] if known else []), head_of(folder)])
    try:
        for place, raw in read_lines(folder):
            walk.take(place, raw)
    except PFedGPError as error:
        walk.found.fault(one_line(error))
    if walk.found.last > most_lines(folder):
        noted = f"{HEAD}, which notes the last line, is missing, is damaged or knows of none"
        walk.found.fault(f"{noted}: lines may be missing at the end")
    return walk.end()


class _Walk:
    """Takes one line after the other.

    Parameters
    ----------
    archived : bool
    heads : list of int and str
        Numbers and hashes of lines that have to be there; 0 stands for none.
    """

    def __init__(self, archived: bool, heads: list[tuple[int, str]]) -> None:
        self.found, self._archived, self._previous = Verified(), archived, FIRST
        self._heads, self._seen = heads, dict[int, str]()
        self._cut, self._fault = list[bytes](), ""  # lines that are none, and what is wrong with the first

    def take(self, place: str, raw: bytes) -> None:
        """The next line, with its end."""
        if not raw.endswith(b"\n"):
            if place.startswith(CURRENT):
                self.found.torn.append(f"{place}: the last line was cut, {len(raw)} bytes")
            else:
                self.found.fault(f"{place}: the end of a closed file is cut")
            return
        try:
            about = parse_line(raw.removesuffix(b"\n"))
        except MalformedError as error:
            self._cut.append(raw.removesuffix(b"\n"))
            self._fault = self._fault or f"{place}: {error}"
            return
        self._explain(about, place)
        self._follow(about, place)

    def end(self) -> Verified:
        """What was found in all of them."""
        if self._cut:
            self.found.fault(self._fault)
        for number, digest in self._heads:
            if number and self._seen.get(number) != digest:
                what = "is another one" if number in self._seen else "is missing"
                self.found.fault(f"line {number}, which was noted with the hash {digest[:12]}, {what}")
        self.found.head = self._previous
        return self.found

    def _explain(self, about: dict[str, Any], place: str) -> None:
        """Hold lines that are none against what the line behind them says of them."""
        cut = b"\n".join(self._cut)
        if about["event"] == DAMAGED:
            self.found.fault(f"{place}: when it was written, lines before it were gone")
        elif about["event"] == TORN and about.get("sha256") == hashlib.sha256(cut).hexdigest():
            self.found.torn.append(f"{place}: the line before it was cut, {len(cut)} bytes")
        elif self._cut:
            self.found.fault(self._fault)
        self._cut, self._fault = [], ""

    def _follow(self, about: dict[str, Any], place: str) -> None:
        """Hold a line against the one before it."""
        number, found = about["n"], self.found
        if not found.lines:
            found.first = number
            if number != 1 and not self._archived:
                found.fault(f"{place}: the log begins with line {number}, those before it are missing")
            if number == 1 and about["prev"] != FIRST:
                found.fault(f"{place}: line 1 follows another line")
        elif number != found.last + 1:
            found.fault(f"{place}: line {number} follows line {found.last}")
        elif about["prev"] != self._previous:
            found.fault(f"{place}: line {number} was written after another line {found.last} than the one here")
        found.lines, found.last = found.lines + 1, number
        self._previous = self._seen[number] = about["hash"]
