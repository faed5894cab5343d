"""The state of one run as metrics of Prometheus: those of the file, and of the operator's page over HTTP."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from server.report.reporters import client_measures, pooled_measures
from server.report.wording import MEAN, capital, title

__all__ = ["RunMetrics", "Samples", "family"]

Labels = Mapping[str, str]
Samples = Sequence[tuple[Labels, float]]
STATES = ("running", "completed", "failed")


def family(
    name: str, text: str, samples: Samples, kind: type[GaugeMetricFamily | CounterMetricFamily] = GaugeMetricFamily
) -> Metric:
    """A family of metrics whose name begins with ``pfedgp_``; a number that is not finite is left out.

    Parameters
    ----------
    name : str
    text : str
        Says what it is.
    samples : sequence of mapping and float
        Labels, of the same names in all, and values.
    kind : type
    """
    made = kind(f"pfedgp_{name}", text, labels=list(samples[0][0]) if samples else [])
    for labels, value in samples:
        if math.isfinite(value):
            made.add_metric(list(labels.values()), value)
    return made


class RunMetrics(Collector):
    """The last state of one run; a number that does not exist is left out."""

    def __init__(self) -> None:
        self._families: dict[str, Metric] = {}
        self._totals: Counter[tuple[str, str]] = Counter()  # (family, label) -> sum over rounds

    def start(self, labels: Labels, rounds: int) -> None:
        """Take what is known before the first round.

        Parameters
        ----------
        labels : mapping of str to str
            Tell the run from others: ``run``, ``dataset``, ``variant``, ``seed``.
        rounds : int
            That it is to have.
        """
        self._gauge("run_info", "The run that these metrics describe.", [(labels, 1.0)])
        self._gauge("rounds_planned", "Rounds that the run is to have.", [({}, float(rounds))])

    def clients(self, number: int) -> None:
        """Take how many clients take part."""
        self._gauge("clients", "Clients that take part.", [({}, float(number))])

    def round(self, record: Mapping[str, Any]) -> None:
        """Take the state after a round; `record` is its line of ``metrics.jsonl``."""
        self._gauge("round", "The last round that is complete.", [({}, float(record["round"]))])
        for key, value in record.items():
            if (key.startswith("validation_") or key == "train_loss") and isinstance(value, float):
                self._gauge(key, f"{capital(title(key))}, of the last round that has it.", [({}, float(value))])
        for key, error in (record.get("standard_errors") or {}).items():
            name = f"validation_{key}"
            text = f"{capital(title(name))}: its standard error, of the last round that drew clients for it."
            self._gauge(f"{name}_standard_error", text, [({}, float(error))])
        self._totals["replies", "ok"] += record.get("ok", 0)
        self._totals["replies", "failed"] += len(record.get("failed") or ())
        for name in record.get("clipped") or ():
            self._totals["clipped_updates", name] += 1
        for direction in ("sent", "received"):
            self._totals["model_bytes", direction] += record.get(f"bytes_{direction}", 0)
        for event, count in (record.get("counters") or {}).items():
            self._totals["recoveries", event] += count
        self._counter("replies", "outcome", "Replies of clients to training requests.")
        self._counter("clipped_updates", "client", "Updates that were shortened because their norm was unusual.")
        self._counter("model_bytes", "direction", "Bytes of shared vectors that the server sent and received.")
        self._counter("recoveries", "event", "Numerical recoveries on clients, by kind.")
        spent = [({"phase": phase}, float(seconds)) for phase, seconds in (record.get("seconds") or {}).items()]
        self._gauge("round_seconds", "Seconds of the last round, by phase.", spent)

    def finish(self, rows: Sequence[Mapping[str, Any]], summary: Mapping[str, Any]) -> None:
        """Add the test results of the federation and of every client."""
        for key, value in pooled_measures(summary).items():
            where = "each on its own test samples" if key.startswith(MEAN) else "over all test samples"
            self._gauge(f"test_{key}", f"{capital(title(key))} {where}.", [({}, value)])
        for key, by_client in client_measures(rows).items():
            samples = [({"client": name}, value) for name, value in by_client.items()]
            self._gauge(f"client_{key}", f"{capital(title(key))} on the client's own test samples.", samples)

    def status(self, status: str, updated: float) -> None:
        """Say which of `STATES` the run is in, and when that was written, in Unix time."""
        states = [({"state": s}, float(s == status)) for s in STATES]
        self._gauge("run_status", "1 for the state that the run is in.", states)
        self._gauge("updated_timestamp_seconds", "When this state was written, in Unix time.", [({}, updated)])

    def copy(self) -> "RunMetrics":
        """Another one of the same state."""
        made = RunMetrics()
        made._families, made._totals = dict(self._families), Counter(self._totals)
        return made

    def collect(self) -> list[Metric]:
        """Return the present state, as a registry asks for it."""
        return list(self._families.values())

    def _gauge(self, name: str, text: str, samples: Samples) -> None:
        self._keep(family(name, text, samples))

    def _counter(self, name: str, label: str, text: str) -> None:
        samples = [({label: v}, float(n)) for (family_of, v), n in sorted(self._totals.items()) if family_of == name]
        if samples:
            self._keep(family(name, text, samples, CounterMetricFamily))

    def _keep(self, made: Metric) -> None:
        self._families[made.name] = made
