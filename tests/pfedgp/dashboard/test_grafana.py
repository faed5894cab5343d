"""Dashboard, queries and compose file that come with the page: they name metrics, labels and options that exist."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from pfedgp.dashboard.metrics import exposition
from pfedgp.dashboard.watch import Watch
from tests.pfedgp.dashboard.made_state import MadeServer, busy

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pathspec.*")
ROOT = Path(__file__).resolve().parents[3]
BOARD: dict[str, Any] = json.loads((ROOT / "docker/grafana/pfedgp.json").read_text(encoding="utf-8"))
DOC = (ROOT / "docs/dashboard.md").read_text(encoding="utf-8")
QUERIES = [target["expr"] for panel in BOARD["panels"] for target in panel["targets"]]
GIVEN = {"job", "instance"}  # labels that Prometheus adds


@pytest.fixture
def exported(server: MadeServer) -> dict[str, set[str]]:
    """Labels of each metric of a scrape."""
    server.start()
    busy(server)
    watch = Watch(server.state)
    snapshot = watch.look()
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(exposition(snapshot, watch.found).decode()):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def test_every_metric_of_the_board_is_exported(exported: dict[str, set[str]]) -> None:
    asked = {name for query in QUERIES for name in re.findall(r"\bpfedgp_\w+", query)}
    assert len(asked) > 15
    assert asked - set(exported) == set()


def test_every_label_of_the_board_is_one_of_its_metric(exported: dict[str, set[str]]) -> None:
    for panel in BOARD["panels"]:
        for target in panel["targets"]:
            names = re.findall(r"\bpfedgp_\w+", target["expr"])
            known = set().union(*(exported[name] for name in names)) | GIVEN
            chosen = set(re.findall(r"(\w+)=~?\"", target["expr"])) | set(
                re.findall(r"{{(\w+)}}", target["legendFormat"])
            )
            assert chosen <= known, (panel["title"], chosen - known)


def test_the_panels_of_the_board_do_not_overlap() -> None:
    places = [panel["gridPos"] for panel in BOARD["panels"]]
    cells = [(x, y) for p in places for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])]
    assert len(cells) == len(set(cells))
    assert all(p["x"] + p["w"] <= 24 for p in places)
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])


def test_the_board_asks_a_source_that_the_reader_chooses() -> None:
    sources = {json.dumps(one["datasource"]) for panel in BOARD["panels"] for one in [panel, *panel["targets"]]}
    assert sources == {'{"type": "prometheus", "uid": "${datasource}"}'}
    assert {one["name"] for one in BOARD["templating"]["list"]} == {"datasource", "job"}


def test_every_metric_that_the_page_of_the_manual_names_is_exported(exported: dict[str, set[str]]) -> None:
    named = set(re.findall(r"\bpfedgp_\w+", DOC))
    assert named - set(exported) == set()
    own = {name for name in exported if name not in _of_runs()}
    assert own - named == set()


def _of_runs() -> set[str]:
    """Metrics of a run's own file, which docs/simulate.md is about."""
    text = (ROOT / "server/report/run_metrics.py").read_text(encoding="utf-8")
    names = {f"pfedgp_{name}" for name in re.findall(r"_(?:gauge|counter)\(\"(\w+)\"", text)}
    return names | {f"{name}_total" for name in names} | {"pfedgp_train_loss", "pfedgp_validation_accuracy"}


def test_every_field_of_a_snapshot_is_in_the_manual(server: MadeServer) -> None:
    server.start()
    busy(server)
    snapshot = Watch(server.state).look()
    rows = [snapshot, *(row for value in snapshot.values() for row in _objects(value))]
    rows += [site for one in snapshot["publications"] for site in one["sites"]]
    rows += [point for run in snapshot["runs"] for point in run["history"]]
    keys = {key for row in rows for key in row}
    assert {key for key in keys if not re.search(rf"`{key}`", DOC)} == set()


def _objects(value: Any) -> list[dict[str, Any]]:
    return [row for row in (value if isinstance(value, list) else [value]) if isinstance(row, dict)]


def test_the_container_is_published_on_loopback_and_only_reads() -> None:
    text = (ROOT / "docker/compose.dashboard.yml").read_text(encoding="utf-8")
    service = yaml.safe_load(text)["services"]["dashboard"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    texts = [volume for volume in service["volumes"] if isinstance(volume, str)]
    assert [volume for volume in texts if not volume.endswith(":ro")] == ["dashboard-token:/token"]
    assert all(volume["read_only"] for volume in service["volumes"] if isinstance(volume, dict))
