"""The events of a run and its reporters: the console, the HTML report, TensorBoard, Prometheus."""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pfedgp_core.config import Settings
from server.report.wording import metric_behind
from server.run.origin import Origin

__all__ = ["Guarded", "Reporter", "client_measures", "pooled_measures"]

_log = logging.getLogger("pfedgp")


class Reporter:
    """Listens to one run; each event does nothing unless a subclass says what.

    ``start`` comes once, then ``resume`` where the run goes on from a checkpoint, ``round`` after each round, then
    either ``finish`` or ``fail``. All numbers are those of the
    run's own files: `record` is the line of ``metrics.jsonl``, `rows` those of ``clients.csv``, `summary` is
    ``summary.json``.
    """

    def start(self, settings: Settings, n_clients: int, path: Path, origin: Origin) -> None:
        """Before the first round; `origin` says what the run is about."""

    def resume(self, done: int, history: Sequence[Mapping[str, Any]]) -> None:
        """After `start`, where `done` rounds were done before; `history` holds their records."""

    def round(self, record: Mapping[str, Any]) -> None:
        """After each round."""

    def finish(self, rows: Sequence[Mapping[str, Any]], summary: Mapping[str, Any], path: Path) -> None:
        """At the end, once all files but the reporters' own are on the disk."""

    def fail(self, summary: Mapping[str, Any], path: Path) -> None:
        """At the end of a run without a result."""


def pooled_measures(summary: Mapping[str, Any]) -> dict[str, float]:
    """Return what was measured over all test samples: every metric that the summary has a number for."""
    numbers = _measured(summary)
    return {key: value for key, value in numbers.items() if not key.startswith("validation_")}


def client_measures(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return what was measured on the clients' test samples: measure -> client name -> value."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        for key, value in _measured(row).items():
            found.setdefault(key, {})[str(row["name"])] = value
    return found


def _measured(values: Mapping[str, Any]) -> dict[str, float]:
    return {key: value for key, value in values.items() if isinstance(value, float) and metric_behind(key)}


class Guarded(Reporter):
    """A reporter that cannot end a run: its first error is a warning, and it hears no further events.

    Parameters
    ----------
    reporter : Reporter
    what : str
        How the warning calls it, for example "the HTML report".
    """

    def __init__(self, reporter: Reporter, what: str) -> None:
        self._reporter, self._what = reporter, what
        self._broken = False

    def start(self, settings: Settings, n_clients: int, path: Path, origin: Origin) -> None:
        """Pass on."""
        self._try(self._reporter.start, settings, n_clients, path, origin)

    def resume(self, done: int, history: Sequence[Mapping[str, Any]]) -> None:
        """Pass on."""
        self._try(self._reporter.resume, done, history)

    def round(self, record: Mapping[str, Any]) -> None:
        """Pass on."""
        self._try(self._reporter.round, record)

    def finish(self, rows: Sequence[Mapping[str, Any]], summary: Mapping[str, Any], path: Path) -> None:
        """Pass on."""
        self._try(self._reporter.finish, rows, summary, path)

    def fail(self, summary: Mapping[str, Any], path: Path) -> None:
        """Pass on."""
        self._try(self._reporter.fail, summary, path)

    def _try(self, event: Callable[..., None], *arguments: Any) -> None:
        if self._broken:
            return
        try:
            event(*arguments)
        except Exception as error:  # noqa: BLE001 (a report is not worth a run)
            self._broken = True
            _log.warning("Without %s from here on (%s: %s).", self._what, type(error).__name__, error)
