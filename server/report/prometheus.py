"""A run as a file in Prometheus's text format, for the node exporter's textfile collector or any scraper of files.

The file is replaced in one step after every round, so a scrape never sees half of it. It holds the last state of one
run; a number that does not exist is left out.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest

from pfedgp_core.config import Settings
from server.report.reporters import Reporter
from server.report.run_metrics import RunMetrics
from server.run.files import write_whole
from server.run.origin import Origin

__all__ = ["PrometheusFile"]


class PrometheusFile(Reporter):
    """Keeps one file up to date.

    Parameters
    ----------
    path : Path
        The file; by the collector's rule its name ends in ``.prom``.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._metrics = path, RunMetrics()
        self._registry = CollectorRegistry()
        self._registry.register(self._metrics)

    def start(self, settings: Settings, n_clients: int, path: Path, origin: Origin) -> None:
        """Write what is known before the first round."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        about = {"run": path.name, "dataset": origin.data, "variant": settings.variant, "seed": f"{settings.seed}"}
        self._metrics.start(about, settings.rounds)
        self._metrics.clients(n_clients)
        self._write("running")

    def resume(self, done: int, history: Sequence[Mapping[str, Any]]) -> None:
        """Count the rounds before as well."""
        for record in history:
            self.round(record)

    def round(self, record: Mapping[str, Any]) -> None:
        """Replace the file with the state after this round."""
        self._metrics.round(record)
        self._write("running")

    def finish(self, rows: Sequence[Mapping[str, Any]], summary: Mapping[str, Any], path: Path) -> None:
        """Add the test results of the federation and of every client."""
        self._metrics.finish(rows, summary)
        self._write(str(summary.get("status", "completed")))

    def fail(self, summary: Mapping[str, Any], path: Path) -> None:
        """Say that the run failed."""
        self._write("failed")

    def _write(self, status: str) -> None:
        self._metrics.status(status, time.time())
        write_whole(self.path, generate_latest(self._registry))
