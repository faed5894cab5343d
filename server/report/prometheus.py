"""A run as a file in Prometheus's text format, for the node exporter's textfile collector or any scraper of files.

The file is replaced in one step after every round, so a scrape never sees half of it. It holds the last state of one
run; a number that does not exist is left out.
"""

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from pfedgp_core.config import Settings
from server.report.reporters import Reporter, client_measures, pooled_measures
from server.report.wording import MEAN, capital, title
from server.run.files import write_whole
from server.run.origin import Origin

__all__ = ["PrometheusFile"]

Labels = Mapping[str, str]
Samples = list[tuple[Labels, float]]


class PrometheusFile(Reporter, Collector):
    """Keeps one file up to date.

    Parameters
    ----------
    path : Path
        The file; by the collector's rule its name ends in ``.prom``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._families: dict[str, Metric] = {}
        self._totals: Counter[tuple[str, str]] = Counter()  # (family, label) -> sum over rounds
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def start(self, settings: Settings, n_clients: int, path: Path, origin: Origin) -> None:
        """Write what is known before the first round."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        labels = {
            "run": path.name,
            "dataset": origin.data,
            "variant": settings.variant,
            "seed": f"{settings.seed}",
        }
        self._gauge("run_info", "The run that this file describes.", [(labels, 1.0)])
        self._gauge("rounds_planned", "Rounds that the run is to have.", [({}, float(settings.rounds))])
        self._gauge("clients", "Clients that take part.", [({}, float(n_clients))])
        self._status("running")

    def resume(self, done: int, history: Sequence[Mapping[str, Any]]) -> None:
        """Count the rounds before as well."""
        for record in history:
            self.round(record)

    def round(self, record: Mapping[str, Any]) -> None:
        """Replace the file with the state after this round."""
        self._gauge("round", "The last round that is complete.", [({}, float(record["round"]))])
        for key, value in record.items():
            if (key.startswith("validation_") or key == "train_loss") and isinstance(value, float):
                self._gauge(key, f"{capital(title(key))}, of the last round that has it.", [({}, float(value))])
        for key, error in (record.get("standard_errors") or {}).items():
            name = f"validation_{key}"
            text = f"{capital(title(name))}: its standard error, of the last round that drew clients for it."
            self._gauge(f"{name}_standard_error", text, [({}, float(error))])
        self._totals["replies", "ok"] += record["ok"]
        self._totals["replies", "failed"] += len(record["failed"])
        for name in record.get("clipped") or ():
            self._totals["clipped_updates", name] += 1
        for direction in ("sent", "received"):
            self._totals["model_bytes", direction] += record[f"bytes_{direction}"]
        for event, count in (record.get("counters") or {}).items():
            self._totals["recoveries", event] += count
        self._counter("replies", "outcome", "Replies of clients to training requests.")
        self._counter("clipped_updates", "client", "Updates that were shortened because their norm was unusual.")
        self._counter("model_bytes", "direction", "Bytes of shared vectors that the server sent and received.")
        self._counter("recoveries", "event", "Numerical recoveries on clients, by kind.")
        spent: Samples = [({"phase": phase}, float(seconds)) for phase, seconds in record["seconds"].items()]
        self._gauge("round_seconds", "Seconds of the last round, by phase.", spent)
        self._status("running")

    def finish(self, rows: Sequence[Mapping[str, Any]], summary: Mapping[str, Any], path: Path) -> None:
        """Add the test results of the federation and of every client."""
        for key, value in pooled_measures(summary).items():
            where = "each on its own test samples" if key.startswith(MEAN) else "over all test samples"
            self._gauge(f"test_{key}", f"{capital(title(key))} {where}.", [({}, value)])
        for key, by_client in client_measures(rows).items():
            samples: Samples = [({"client": name}, value) for name, value in by_client.items()]
            self._gauge(f"client_{key}", f"{capital(title(key))} on the client's own test samples.", samples)
        self._status(str(summary.get("status", "completed")))

    def fail(self, summary: Mapping[str, Any], path: Path) -> None:
        """Say that the run failed."""
        self._status("failed")

    def collect(self) -> list[Metric]:
        """Return the present state, as a registry asks for it."""
        return list(self._families.values())

    def _status(self, status: str) -> None:
        states: Samples = [({"state": s}, float(s == status)) for s in ("running", "completed", "failed")]
        self._gauge("run_status", "1 for the state that the run is in.", states)
        self._gauge("updated_timestamp_seconds", "When this file was written, in Unix time.", [({}, time.time())])
        write_whole(self.path, generate_latest(self._registry))

    def _gauge(self, name: str, text: str, samples: Samples) -> None:
        self._keep(GaugeMetricFamily(f"pfedgp_{name}", text, labels=_label_names(samples)), samples)

    def _counter(self, name: str, label: str, text: str) -> None:
        samples: Samples = [({label: v}, float(n)) for (family, v), n in sorted(self._totals.items()) if family == name]
        if samples:
            self._keep(CounterMetricFamily(f"pfedgp_{name}", text, labels=[label]), samples)

    def _keep(self, family: GaugeMetricFamily | CounterMetricFamily, samples: Samples) -> None:
        for labels, value in samples:
            if math.isfinite(value):
                family.add_metric(list(labels.values()), value)
        self._families[family.name] = family


def _label_names(samples: Samples) -> list[str]:
    return list(samples[0][0]) if samples else []
