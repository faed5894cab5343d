"""The runs of a server: what Flower knows of them, and what their folders say; either may be missing."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from pfedgp.dashboard.run_reader import RunReader, is_run
from pfedgp.operator.control import Run
from pfedgp_core.checks import printable
from pfedgp_core.words import cut

__all__ = ["LIVE", "FoundRun", "Runs"]

SHOWN = 50  # runs that are looked into, the latest ones
LIVE = ("waiting", "starting", "running")
_STATUS = {"pending": "waiting", "finished:completed": "completed"}
_STATUS |= {"finished:failed": "failed", "finished:stopped": "stopped"}


class FoundRun(NamedTuple):
    """A run and, where this machine has it, its folder.

    Attributes
    ----------
    row : dict
        As in a snapshot.
    look : dict
        What `RunReader.look` says; empty without a folder.
    reader : RunReader or None
    """

    row: dict[str, Any]
    look: dict[str, Any]
    reader: RunReader | None


class Runs:
    """Keeps a reader for each folder.

    Parameters
    ----------
    folder : Path
        ``runs`` of the server's state.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._readers: dict[Path, RunReader] = {}

    def find(self, known: Sequence[Run], local: Callable[[str], Path | None]) -> tuple[list[FoundRun], int]:
        """The latest runs, the last first, and how many there are.

        Parameters
        ----------
        known : sequence of Run
            All that Flower knows, the latest first; empty where it cannot be asked.
        local : callable
            Gives the folder of a run here, of its server's path.
        """
        latest: dict[str, Run] = {}
        for run in known:
            latest.setdefault(run.folder or str(run.run_id), run)
        again = Counter(run.folder for run in known if run.folder)
        entries: list[tuple[float, Run | None, Path | None]] = []
        here: set[Path] = set()
        for run in latest.values():
            path = local(run.folder)
            if path is not None:
                here.add(path.resolve())
            entries.append((_moment(run.pending_at), run, path))
        entries += [(_made(path), None, path) for path in self._on_disk() if path.resolve() not in here]
        entries.sort(key=lambda entry: -entry[0])
        shown = [self._found(run, path, again) for _, run, path in entries[:SHOWN]]
        used = {found.reader.path for found in shown if found.reader}
        self._readers = {path: reader for path, reader in self._readers.items() if path in used}
        return shown, len(entries)

    def _on_disk(self) -> list[Path]:
        try:
            return [path for path in self._folder.iterdir() if is_run(path)]
        except OSError:
            return []

    def _found(self, run: Run | None, path: Path | None, again: Mapping[str, int]) -> FoundRun:
        reader = None if path is None else self._readers.setdefault(path, RunReader(path))
        look = reader.look() if reader else {}
        status = look.get("status", "unknown") if run is None else _STATUS.get(run.status, run.status)
        kind = _kind(run, look)
        given = run.config.get("rounds") if run and kind == "training" else None
        rounds = given or look.get("rounds")
        done, seconds = look.get("round"), look.get("round_seconds")
        live = status in LIVE
        left = seconds * max(0, rounds - (done or 0)) if live and seconds is not None and rounds else None
        row = {
            "name": printable(run.name if run else path.name if path else "", 100),
            "id": str(run.run_id) if run else None,
            "kind": kind,
            "status": status,
            "live": live,
            "folder": run.folder if run else str(path),
            "started": (run.pending_at if run else None) or look.get("started"),
            "changed": _iso(look["changed"]) if look.get("changed") else None,
            "resumed": max(0, again[run.folder] - 1) if run and run.folder else 0,
            "round": done,
            "rounds": rounds,
            "round_seconds": seconds,
            "seconds_left": left,
            **_result(look),
            "reason": "" if live else cut(look.get("reason") or (run.reason if run else ""), 500),
            "last_failed": {printable(k, 100): printable(v, 300) for k, v in look.get("last_failed", {}).items()},
            "history": look.get("history", []) if live else [],
            "damage": look.get("damage", []),
        }
        return FoundRun(row, look, reader)


def _kind(run: Run | None, look: Mapping[str, Any]) -> str:
    given = run.config if run else {}
    kinds = {"publish": "publication", "evaluate": "evaluation"}
    return next((kind for key, kind in kinds.items() if given.get(key)), str(look.get("kind", "training")))


def _result(look: Mapping[str, Any]) -> dict[str, Any]:
    """The number by which a run is known: of the final test, else of the last evaluation."""
    if look.get("accuracy") is not None:
        return {"score": look["accuracy"], "score_name": "test_accuracy"}
    name = str(look.get("score_name", ""))
    scores = [one["score"] for one in look.get("history", []) if one["score"] is not None]
    return {"score": scores[-1] if scores else None, "score_name": name}


def _moment(text: str | None) -> float:
    try:
        return datetime.fromisoformat(text or "").timestamp()
    except ValueError:
        return 0.0


def _made(path: Path) -> float:
    """When a folder's run was started, as far as its settings tell."""
    for name in ("config.toml", "."):
        try:
            return (path / name).stat().st_mtime
        except OSError:
            continue
    return 0.0


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
