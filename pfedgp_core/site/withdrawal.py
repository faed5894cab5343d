"""A site leaves its federation: what its state folder holds is deleted, and a receipt says what lies elsewhere."""

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pfedgp_core.errors import DamagedStateError, UnreadableFileError
from pfedgp_core.files.json_file import read_object
from pfedgp_core.files.whole import explained, write_whole

__all__ = [
    "CLASSIFIER",
    "MARK",
    "Part",
    "Trained",
    "elsewhere",
    "parts",
    "receipt",
    "remove",
    "trained_in",
    "withdrawn",
    "write_mark",
]

MARK = "withdrawn.json"  # the receipt; without its hash while the withdrawal goes on
CLASSIFIER = "site"
_PARTS = {  # what a state folder holds, in the order in which it is deleted
    "kept": "states that a method keeps between rounds",
    "split.json": "the split of the samples, with hashes of inputs",
    "progress.json": "the last round",
    "notice.json": "the server's last words",
    "flwr": "messages and runs in Flower's folder",
    "logs": "logs",
    "policy": "the policy, approvals, and what has been sent under it",
    CLASSIFIER: "the classifier, with features of the samples",
    "client.json": "processes and server",
}


@dataclass(frozen=True)
class Part:
    """Something in a state folder: its name, what it is, and how much."""

    name: str
    what: str
    files: int
    bytes: int


@dataclass
class Trained:
    """In which rounds of a run a site's updates left it, by its audit log."""

    rounds: list[int] = field(default_factory=list)
    settings: str | None = None

    def to_dict(self, run: str) -> dict[str, Any]:
        """For a receipt."""
        first, last = (min(self.rounds), max(self.rounds)) if self.rounds else (None, None)
        return {
            "run": run,
            "settings": self.settings,
            "updates": len(self.rounds),
            "first_round": first,
            "last_round": last,
        }


def parts(state: Path, keep_classifier: bool) -> list[Part]:
    """What would be deleted of a state folder."""
    found = []
    for name, what in _PARTS.items():
        path = state / name
        if (path.exists() or path.is_symlink()) and not (keep_classifier and name == CLASSIFIER):
            files = [path] if path.is_symlink() or path.is_file() else [f for f in path.rglob("*") if f.is_file()]
            found.append(Part(name, what, len(files), sum(f.lstat().st_size for f in files)))
    return found


def remove(state: Path, given: Iterable[Part]) -> None:
    """Delete parts; a kill leaves some of them, and another call deletes these. ArtefactError where one cannot be."""
    for part in given:
        path = state / part.name
        with explained(path):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


def trained_in(lines: Iterable[Mapping[str, Any]]) -> dict[str, Trained]:
    """The runs that got updates of a site, by Flower's number, from the lines of its audit log."""
    found: dict[str, Trained] = {}
    for line in lines:
        reply = line.get("reply")
        fields = reply.get("fields") if isinstance(reply, dict) else None
        if line.get("event") != "sent" or line.get("kind") != "train" or not isinstance(fields, dict):
            continue
        if "shared" in fields or "arrays.shared" in fields:
            run = found.setdefault(str(line.get("run")), Trained())
            run.settings = run.settings or line.get("settings")
            if isinstance(number := line.get("round"), int):
                run.rounds.append(number)
    return found


def elsewhere(name: str, took_part: bool | None) -> list[dict[str, str]]:
    """What others have of a site, and who can delete it.

    Parameters
    ----------
    name : str
    took_part : bool or None
        Whether updates have left the site; None where no log says.
    """
    network = {
        True: "It was trained with this site's updates. Only a new training without the site would undo that.",
        False: "No update has left this site, so nothing of its samples is in it.",
        None: "Nobody knows here whether updates have left this site, as it has no audit log.",
    }[took_part]
    again = f"The server's operator: pfedgp resume RUN --without {name} --out FOLDER, or a new run without the site."
    return [
        {
            "where": "server, certs/clients",
            "what": "The public key of the site.",
            "remedy": f"The server's operator: pfedgp certs --remove {name}.",
        },
        {
            "where": "server, folders of runs",
            "what": "Name, counts, class names and sums of metrics of the site, and digests in the audit log.",
            "remedy": "The server's operator deletes these folders, or keeps them as records.",
        },
        {
            "where": "server, its database",
            "what": "Messages until they are fetched, and the number of the site's node.",
            "remedy": "Flower deletes messages itself; without runs, the server's operator may delete superlink.db*.",
        },
        {"where": "the shared network, wherever it is", "what": network, "remedy": again},
        {
            "where": "here, outside the state folder",
            "what": "The data files, the private key, backups, predictions and certificates.",
            "remedy": "Yours to delete; the key is of no use once the server has taken it out.",
        },
    ]


def receipt(about: Mapping[str, Any]) -> dict[str, Any]:
    """Seal a receipt with the hash of all its fields."""
    made = {"format": "pfedgp-withdrawal-receipt", "schema_version": 1}
    made |= {"when": datetime.now(UTC).isoformat(timespec="seconds"), **about}
    return made | {"sha256": hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()}


def write_mark(state: Path, about: Mapping[str, Any]) -> None:
    """Keep the receipt, or before there is one the fact that the site is leaving."""
    write_whole(state / MARK, json.dumps(about, indent=2, ensure_ascii=False) + "\n")


def withdrawn(state: Path) -> dict[str, Any] | None:
    """What the mark in a state folder says; None where the site has not withdrawn.

    Raises
    ------
    DamagedStateError
        There is one that cannot be read: the site counts as withdrawn.
    """
    path = state / MARK
    if not path.exists() and not path.is_symlink():
        return None
    try:
        return read_object(path)
    except UnreadableFileError as error:
        raise DamagedStateError(
            f"{path} says that this site has withdrawn, and cannot be read ({error.reason}): give another --state to "
            "take part again."
        ) from error
