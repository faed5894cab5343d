"""What Prometheus reads over HTTP: the latest run as its own file would have it, and the server with its sites."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from pfedgp.dashboard.runs import FoundRun
from pfedgp_core.errors import UnreadableFileError
from pfedgp_core.files.csv_text import read_csv
from pfedgp_core.files.regular import decoding, read_text
from server.report.html.run_files import as_number
from server.report.run_metrics import Samples, family

__all__ = ["CONTENT_TYPE", "exposition"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_STATES = {"completed": "completed", "failed": "failed", "stopped": "failed", "cut off": "failed"}
_RUN_STATES = ("waiting", "starting", "running", "completed", "stopped", "failed", "cut off")


def exposition(snapshot: Mapping[str, Any], runs: Sequence[FoundRun]) -> bytes:
    """The text of one scrape.

    Parameters
    ----------
    snapshot : mapping
        Of `Watch.look`.
    runs : sequence of FoundRun
        Of the same look.
    """
    registry = CollectorRegistry()
    registry.register(_Families([*_of_server(snapshot), *_of_latest(runs)]))
    return generate_latest(registry)


class _Families(Collector):
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families


def _of_server(snapshot: Mapping[str, Any]) -> Iterator[Metric]:
    server, sites = snapshot["server"], snapshot["sites"]
    yield family("server_up", "1 where the server answers.", [({}, float(server["answers"]))])
    up: Samples = [({"process": name}, float(alive)) for name, alive in server["processes"].items()]
    yield family("server_process_up", "1 for each program of the server that runs.", up)
    yield family("sites_registered", "Sites whose keys are known.", [({}, float(len(sites)))])
    known = [site for site in sites if site["connected"] is not None]
    if known or not sites:
        connected = float(sum(site["connected"] for site in known))
        yield family("sites_connected", "Sites that are connected.", [({}, connected)])
    each: Samples = [({"site": site["name"]}, float(site["connected"])) for site in known]
    yield family("site_connected", "1 for a site that is connected.", each)
    counted = Counter(run["status"] for run in snapshot["runs"])
    states: Samples = [({"state": state}, float(counted[state])) for state in _RUN_STATES]
    yield family("runs", "Runs by their state, of the latest.", states)
    dated = [row for row in snapshot["certificates"] if row["readable"]]
    ends: Samples = [({"certificate": row["name"]}, datetime.fromisoformat(row["until"]).timestamp()) for row in dated]
    yield family("certificate_expiry_timestamp_seconds", "When a certificate ends, in Unix time.", ends)
    items = Counter(item["level"] for item in snapshot["attention"])
    levels: Samples = [({"level": level}, float(items[level])) for level in ("attention", "broken")]
    yield family("attention", "Things that need a person, as the operator's page lists them.", levels)
    refused: Samples = [
        ({"kind": kind}, float(sum(row["times"] for row in snapshot["refusals"] if row["kind"] == kind)))
        for kind in ("refused", "told", "training", "validation", "shortened", "late")
    ]
    yield family("refusals", "Refused sites and failed, late or shortened replies of the latest runs.", refused)
    published: Samples = [
        ({"outcome": outcome}, float(snapshot["publications"][0][outcome] or 0))
        for outcome in ("onboarded", "failed")
        if snapshot["publications"]
    ]
    yield family("publication_sites", "Sites by their answer to the latest published model.", published)


def _of_latest(runs: Sequence[FoundRun]) -> list[Metric]:
    """The latest run that trains, in the metrics of `pfedgp_core`'s own file (`server.report.prometheus`)."""
    latest = next((run for run in runs if run.row["kind"] == "training" and run.reader is not None), None)
    if latest is None:
        return []
    reader, row = latest.reader, latest.row
    assert reader is not None
    metrics = reader.metrics.copy()  # results of a run that was complete go with its resume
    metrics.start(reader.labels, row["rounds"] or 0)
    if (clients := latest.look.get("clients")) is not None:
        metrics.clients(clients)
    if reader.summary.get("status") == "completed":
        metrics.finish(_rows(reader.path), reader.summary)
    metrics.status(_STATES.get(row["status"], "running"), latest.look.get("changed") or 0.0)
    return metrics.collect()


def _rows(path: Any) -> list[dict[str, Any]]:
    """The rows of ``clients.csv`` with numbers; none where it cannot be read."""
    file = path / "clients.csv"
    try:
        with decoding(file):
            rows = read_csv(read_text(file))
    except UnreadableFileError:
        return []
    return [{key: text if key == "name" else as_number(text) for key, text in row.items()} for row in rows]
