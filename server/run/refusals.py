"""``refusals.jsonl`` of a run: what the server has told sites that cannot take part, or whose reply it refused.

The words are those of the log. The file serves the operator's page alone: without it nothing of a run is different.
"""

import json
import logging
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

from pfedgp_core.checks import text
from pfedgp_core.errors import PFedGPError, UnreadableFileError
from pfedgp_core.files.json_file import parse_object
from pfedgp_core.files.regular import MalformedError, read_text
from pfedgp_core.wire.notice import WORDS_LIMIT
from pfedgp_core.words import cut
from server.run.files import append_line, explained

__all__ = ["REFUSALS_FILE", "Refusal", "RefusalsFile", "read_refusals"]

REFUSALS_FILE = "refusals.jsonl"
MOST = 1000  # lines of one process; a site that is refused in ever new words fills no disk
_LONGEST = 16 * 1024**2  # bytes that are read

_log = logging.getLogger("pfedgp.server")


class Refusal(NamedTuple):
    """What one site was told.

    Attributes
    ----------
    time : str
        ISO 8601, UTC.
    node : str
        Flower's node id.
    words : str
    lasting : bool
        Whether the site cannot take part as it is; else a reply of it was refused, or it is asked again.
    """

    time: str
    node: str
    words: str
    lasting: bool

    @classmethod
    def of(cls, line: str) -> Self:
        """Read a line; MalformedError where it is none."""
        about = parse_object(line)
        try:
            time, node, words = (cut(text(about[key]), WORDS_LIMIT) for key in ("time", "node", "words"))
            told = cls(time, node, words, about["lasting"])
            datetime.fromisoformat(told.time)
        except (KeyError, TypeError, ValueError) as error:
            raise MalformedError("a line tells of no refusal") from error
        if not isinstance(told.lasting, bool):
            raise MalformedError("a line tells of no refusal")
        return told


class RefusalsFile:
    """Adds lines; the first failure is a warning, for a run goes on without them.

    Parameters
    ----------
    run : Path
        Folder of the run.
    """

    def __init__(self, run: Path) -> None:
        self._path, self._left = run / REFUSALS_FILE, MOST

    def note(self, node: int, words: str, lasting: bool) -> None:
        """Add a line with the time of now."""
        if self._left <= 0:
            return
        about: dict[str, Any] = {"time": datetime.now(UTC).isoformat(timespec="seconds"), "node": str(node)}
        try:
            with explained(self._path):  # words may name a column's mean: the file is its owner's alone
                os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
            append_line(self._path, json.dumps(about | {"words": words, "lasting": lasting}))
            self._left -= 1
        except PFedGPError as error:
            self._left = 0
            _log.warning("refusals are in this log alone from here on: %s", error)


def read_refusals(run: Path) -> tuple[list[Refusal], int]:
    """The lines of a run's file in their order, and how many cannot be read; none where there is no file."""
    try:
        lines = read_text(run / REFUSALS_FILE, _LONGEST).splitlines()
    except UnreadableFileError:
        return [], 0
    found, damaged = [], 0
    for line in lines:
        try:
            found.append(Refusal.of(line))
        except MalformedError:
            damaged += 1
    return found, damaged
