"""The folder of a run as it is now; of a run that goes on, only what is new is read."""

import statistics
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pfedgp.dashboard.growing import GrowingLines, Kept
from pfedgp.dashboard.replies import FailedReplies
from pfedgp_core.files.json_file import read_object
from pfedgp_core.files.regular import MalformedError
from server.report.run_metrics import RunMetrics
from server.run.claim import is_claimed
from server.run.files import EVALUATION_FILE, ONBOARDED_FILE
from server.run.record_lines import parse_record
from server.run.refusals import read_refusals
from server.run.run_config import read_origin
from server.run.settings import read_kept_settings

__all__ = ["RunReader", "is_run"]

SHOWN = 200  # rounds that are kept for the curve
USUAL = 10  # rounds whose median is a usual round's time
CONFIG, SUMMARY, METRICS = "config.toml", "summary.json", "metrics.jsonl"
_SCORES = ("validation_accuracy", "validation_rmse")


def is_run(path: Path) -> bool:
    """Whether a folder is that of a run, a publication or an evaluation, by its looks."""
    try:
        return any((path / name).is_file() for name in (CONFIG, ONBOARDED_FILE, EVALUATION_FILE))
    except OSError:
        return False


class RunReader:
    """Reads one folder again and again.

    Parameters
    ----------
    path : Path

    Attributes
    ----------
    metrics : RunMetrics
        For Prometheus.
    replies : FailedReplies
        Who failed, in which rounds.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines = GrowingLines(path / METRICS)
        self._config = Kept(path / CONFIG, read_kept_settings)
        self._origin = Kept(path / CONFIG, lambda file: read_origin(file.parent))
        self._summary = Kept(path / SUMMARY, read_object)
        self._onboarded = Kept(path / ONBOARDED_FILE, read_object)
        self._evaluation = Kept(path / EVALUATION_FILE, read_object)
        self._begin()

    def look(self) -> dict[str, Any]:
        """What the folder says, as JSON values; what it does not say is None or empty."""
        for line in self._lines.read(self._begin):
            self._add(line)
        settings, origin = self._config.get() or {}, self._origin.get() or {}
        summary, published = self._summary.get() or {}, self._onboarded.get()
        evaluated = self._evaluation.get()
        kind = "training" if settings else "evaluation" if evaluated is not None else "publication"
        # The onboarding at a run's end is a part of it, and says nothing of how the run ended.
        status = _text((summary if settings else published or {}).get("status"))
        claimed = is_claimed(self.path)
        refusals, damaged = read_refusals(self.path)
        rounds = settings.get("rounds")
        return {
            "kind": kind,
            "status": status or ("completed" if evaluated is not None else "running" if claimed else "cut off"),
            "claimed": claimed,
            "started": _text(origin.get("started")) or None,
            "changed": self._changed(),
            "data": _text(origin.get("data")),
            "round": self._last.get("round"),
            "rounds": rounds if isinstance(rounds, int) and not isinstance(rounds, bool) else None,
            "round_seconds": self.usual_seconds,
            "score_name": self._score_name,
            "history": list(self._history),
            "accuracy": _number(summary.get("accuracy")),
            "reason": _text(summary.get("reason") or (published or {}).get("reason")),
            "clients": summary.get("clients") if isinstance(summary.get("clients"), int) else None,
            "last_failed": dict(self._last.get("failed") or {}),
            "refusals": refusals,
            "publication": published,
            "damage": self._damage(damaged),
        }

    @property
    def usual_seconds(self) -> float | None:
        """The median of the last rounds' seconds."""
        return statistics.median(self._seconds) if self._seconds else None

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the run for Prometheus, as its own file has them."""
        settings, origin = self._config.get() or {}, self._origin.get() or {}
        about = {"run": self.path.name, "dataset": _text(origin.get("data"))}
        return about | {key: _text(settings.get(key, "")) for key in ("variant", "seed")}

    @property
    def summary(self) -> Mapping[str, Any]:
        """The content of ``summary.json``; empty where there is none."""
        return self._summary.get() or {}

    def _changed(self) -> float:
        """When the newest of the files of a round was changed, in Unix time."""
        found = 0.0
        for name in (METRICS, "checkpoints", SUMMARY, ONBOARDED_FILE, EVALUATION_FILE, CONFIG):
            try:
                found = max(found, (self.path / name).stat().st_mtime)
            except OSError:
                continue
        return found

    def _damage(self, refusals: int) -> list[str]:
        """Files that are there and cannot be read, each with the reason."""
        kept = {CONFIG: self._config, SUMMARY: self._summary}
        kept |= {ONBOARDED_FILE: self._onboarded, EVALUATION_FILE: self._evaluation}
        found = [f"{name}: {one.damage}" for name, one in kept.items() if one.damage]
        if self._damaged:
            found.append(f"{METRICS}: {self._damaged} lines are no records of rounds")
        if refusals:
            found.append(f"refusals.jsonl: {refusals} lines cannot be read")
        return found

    def _begin(self) -> None:
        self.metrics, self.replies = RunMetrics(), FailedReplies()
        self._history: deque[dict[str, Any]] = deque(maxlen=SHOWN)
        self._seconds: deque[float] = deque(maxlen=USUAL)
        self._last: dict[str, Any] = {}
        self._score_name, self._damaged = "", 0

    def _add(self, line: bytes) -> None:
        try:
            record = parse_record(line)
            self.metrics.round(record)
            self.replies.add(record)
        except (MalformedError, TypeError, ValueError, AttributeError):
            self._damaged += 1
            return
        self._last = record
        took = (record.get("seconds") or {}).get("round")
        if took is not None:
            self._seconds.append(float(took))
        for name in _SCORES:
            if record.get(name) is not None:
                self._score_name = name
        self._history.append(
            {
                "round": record["round"],
                "seconds": took,
                "score": record.get(self._score_name),
                "loss": record.get("train_loss"),
                "ok": record.get("ok"),
                "failed": len(record.get("failed") or ()),
                "best": record.get("best") is True,
            }
        )


def _text(value: Any) -> str:
    return "" if value is None or isinstance(value, dict | list) else " ".join(str(value).split())[:500]


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
