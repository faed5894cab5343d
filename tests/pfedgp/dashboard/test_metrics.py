"""What Prometheus reads: its own parser takes it, and the latest run's part is that of the run's file."""

import csv
import json
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pfedgp.dashboard.metrics import exposition
from pfedgp.dashboard.watch import Watch
from pfedgp_core.config import Settings
from server.report.prometheus import PrometheusFile
from server.run.origin import Origin
from tests.pfedgp.dashboard.made_state import EVIL, MadeServer, busy, made_run, run_of

Read = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def scrape(server: MadeServer) -> Read:
    watch = Watch(server.state)
    snapshot = watch.look()
    return parsed(exposition(snapshot, watch.found).decode())


def parsed(text: str) -> Read:
    families = text_string_to_metric_families(text)
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}


def test_the_server_and_its_sites_are_read(server: MadeServer) -> None:
    server.start()
    busy(server)
    read = scrape(server)
    assert read["pfedgp_server_up", ()] == 1
    assert (read["pfedgp_sites_connected", ()], read["pfedgp_sites_registered", ()]) == (3, 4)
    assert read["pfedgp_site_connected", (("site", "ward-3"),)] == 0
    assert read["pfedgp_site_connected", (("site", EVIL),)] == 1
    assert read["pfedgp_runs", (("state", "failed"),)] == 1
    assert read["pfedgp_attention", (("level", "attention"),)] == 4
    assert read["pfedgp_refusals", (("kind", "refused"),)] == 1
    assert read["pfedgp_publication_sites", (("outcome", "failed"),)] == 1
    left = read["pfedgp_certificate_expiry_timestamp_seconds", (("certificate", "server.crt"),)]
    assert left > 1_700_000_000
    assert read["pfedgp_round", ()] == 13
    assert read["pfedgp_rounds_planned", ()] == 60
    assert read["pfedgp_run_status", (("state", "running"),)] == 1


def test_a_server_that_is_down_is_still_read(server: MadeServer) -> None:
    read = scrape(server)
    assert read["pfedgp_server_up", ()] == 0
    assert read["pfedgp_attention", (("level", "broken"),)] == 1
    assert ("pfedgp_round", ()) not in read


def test_a_finished_run_reads_as_in_its_own_file(server: MadeServer, tmp_path: Path) -> None:
    summary = {"status": "completed", "accuracy": 0.9, "ece": 0.05, "mean_accuracy": 0.88, "clients": 3}
    path = made_run(server.start().state.runs / "first", 5, **summary)
    rows = [{"name": "=ward", "n_train": 5, "accuracy": 0.5, "ece": 0.25}, {"name": EVIL, "accuracy": None}]
    with (path / "clients.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([["name", "n_train", "accuracy", "ece"], ["'=ward", 5, 0.5, 0.25], [EVIL, 0, "n/a", "n/a"]])
    server.runs = [run_of(path, "finished:completed")]
    own = PrometheusFile(tmp_path / "run.prom")
    own.start(Settings(rounds=60, seed=7), 3, path, Origin("own data of 3 sites"))
    for line in (path / "metrics.jsonl").read_text().splitlines():
        own.round(json.loads(line))
    own.finish(rows, summary, path)
    written, read = parsed((tmp_path / "run.prom").read_text()), scrape(server)
    clock = ("pfedgp_updated_timestamp_seconds", ())
    assert {key: read.get(key) for key in written if key != clock} == {k: v for k, v in written.items() if k != clock}


def test_results_go_with_the_resume_of_a_run(server: MadeServer) -> None:
    path = made_run(server.start().state.runs / "first", 5, status="completed", accuracy=0.9)
    watch = Watch(server.state)
    assert ("pfedgp_test_accuracy", ()) in parsed(exposition(watch.look(), watch.found).decode())
    (path / "summary.json").unlink()
    assert ("pfedgp_test_accuracy", ()) not in parsed(exposition(watch.look(), watch.found).decode())


@pytest.mark.parametrize("name", ["metrics.jsonl", "config.toml", "summary.json", "clients.csv"])
def test_damaged_files_leave_the_scrape_readable(name: str, server: MadeServer) -> None:
    path = made_run(server.start().state.runs / "first", 5, status="completed", accuracy=0.9)
    (path / name).write_bytes(b"\xff\x00{")
    assert scrape(server)["pfedgp_server_up", ()] == 1
