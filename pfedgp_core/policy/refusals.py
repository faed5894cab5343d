"""The last refusal of a site's policy, for its operator: ``pfedgp doctor`` and ``pfedgp status`` show it."""

import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pfedgp_core.checks import printable
from pfedgp_core.errors import ArtefactError, UnreadableFileError
from pfedgp_core.files.json_file import read_object
from pfedgp_core.files.whole import write_whole
from pfedgp_core.policy.site_policy import FOLDER

__all__ = ["last_refusal", "note_refusal"]

FILE = "refused.json"
LONGEST = 1000  # characters of a reason


def note_refusal(state: Path, kind: str, reason: str) -> None:
    """Keep a refusal in place of the former one; a disk that is full changes nothing about the refusal itself."""
    about = {"time": datetime.now(UTC).isoformat(timespec="seconds"), "kind": kind[:40], "reason": reason}
    with suppress(ArtefactError):
        write_whole(state / FOLDER / FILE, json.dumps(about, indent=1) + "\n")


def last_refusal(state: Path) -> dict[str, Any]:
    """``time``, ``kind`` and ``reason`` of the last refusal as printable texts; empty where there was none."""
    try:
        about = read_object(state / FOLDER / FILE)
    except UnreadableFileError:
        return {}
    return {key: printable(str(about.get(key, "")), LONGEST) for key in ("time", "kind", "reason")}
