"""``evaluate``: a model over connected sites without training, each against the network before round 1."""

import json
from pathlib import Path
from typing import Any

import pytest
from flwr.app import Context, RecordDict

from pfedgp_core.config import Settings
from pfedgp_core.errors import ArtefactError, ConfigError, RunFailedError
from server.evaluation import take_evaluation
from server.server_app import serve
from tests.fakegrid import FakeGrid
from tests.federation_run import Run, start
from tests.json_tables import fields
from tests.own_sites import OWN, OwnGrid, archive, rows_of, three_image_sites

pytestmark = pytest.mark.slow

WAITING = Settings(clients=100, clients_per_round=100, min_results=1, wait_timeout=2.0)


def evaluate(grid: FakeGrid, model: Path, out: Path, least: int = 10) -> dict[str, Any]:
    keys = {"out": str(out), "evaluate": str(model), "min-cell": least}
    serve(grid, Context(1, 1, {}, RecordDict(), WAITING.to_run_config() | keys), grid.engine)
    return json.loads((out / "evaluation.json").read_text())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the first test makes for all."""
    return {"root": tmp_path_factory.mktemp("trained")}


@pytest.fixture
def trained(made: dict[str, Any]) -> tuple[Run, dict[str, Path]]:
    root = made["root"]
    if "run" not in made:
        made["sites"] = three_image_sites(root)
        made["run"] = start(OwnGrid(made["sites"]), OWN, root / "run")
    return made["run"], made["sites"]


def test_every_site_has_its_gain_and_nothing_is_trained(trained: tuple[Run, dict[str, Path]], tmp_path: Path) -> None:
    run, sites = trained
    grid = OwnGrid(sites)
    found = evaluate(grid, run.path / "best", tmp_path / "out")
    assert {message.metadata.message_type for message in grid.sent} <= {"query.hello", "evaluate", "query.notice"}
    assert [row["name"] for row in found["sites"]] == ["ward-a", "ward-b", "ward-c"]
    for row in found["sites"]:
        local, federated, gain = row["local"]["accuracy"], row["federated"]["accuracy"], row["gain"]
        assert gain["value"] == pytest.approx(federated["value"] - local["value"])
        assert gain["low"] < gain["value"] < gain["high"]
    assert set(found) <= fields("evaluate")
    gains = [row["gain"]["value"] for row in found["sites"]]
    assert found["mean"]["gain"]["value"] == pytest.approx(sum(gains) / 3)
    assert (found["format"], found["schema_version"], found["model"]["round"]) == (
        "pfedgp-evaluation",
        1,
        run.summary["best_round"],
    )


def test_the_models_numbers_are_those_of_its_runs_final_test(
    trained: tuple[Run, dict[str, Path]], tmp_path: Path
) -> None:
    run, sites = trained
    found = evaluate(OwnGrid(sites), run.path / "best", tmp_path / "out")
    own = {row["name"]: row["federated"]["accuracy"]["value"] for row in found["sites"]}
    lines = (run.path / "clients.csv").read_text().splitlines()
    columns = lines[0].split(",")
    rows = [dict(zip(columns, line.split(","), strict=True)) for line in lines[1:]]
    assert own == {row["name"]: pytest.approx(float(row["accuracy"]), abs=1e-6) for row in rows}


def test_a_site_with_few_test_samples_has_no_number_and_is_in_no_mean(
    trained: tuple[Run, dict[str, Path]], tmp_path: Path
) -> None:
    run, sites = trained
    grid = OwnGrid({**sites, "ward-small": archive(tmp_path / "small.npz", rows_of(0, 1, of=20))})
    found = evaluate(grid, run.path / "best", tmp_path / "out")
    row = next(row for row in found["sites"] if row["name"] == "ward-small")
    assert row == {"name": "ward-small", "suppressed": True}
    assert found["mean"]["sites"] == 3
    page = (tmp_path / "out/evaluation.html").read_text()
    assert "Fewer than 10 test samples, so no number: ward-small." in page
    assert page.count("<tr>") == 1 + 3


def test_a_newcomer_is_measured_and_one_that_does_not_fit_is_named(
    trained: tuple[Run, dict[str, Path]], tmp_path: Path
) -> None:
    run, _ = trained
    grid = OwnGrid({"ward-new": archive(tmp_path / "new.npz", rows_of(6, 7, part=1))})
    (tmp_path / "odd.csv").write_text("a,b,label\n" + "".join(f"{i},{i % 3},d{i % 2}\n" for i in range(60)))
    grid.add_site("ward-odd", tmp_path / "odd.csv")
    found = evaluate(grid, run.path / "best", tmp_path / "out")
    assert [row["name"] for row in found["sites"]] == ["ward-new"]
    assert any("ward-odd" in reason for reason in found["refused"])


def test_no_site_that_can_measure_it_is_a_failed_run(trained: tuple[Run, dict[str, Path]], tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text("a,b,label\n" + "".join(f"{i},{i % 3},d{i % 2}\n" for i in range(60)))
    with pytest.raises(RunFailedError, match="No site can measure the model"):
        evaluate(OwnGrid({"ward-odd": tmp_path / "odd.csv"}), trained[0].path / "best", tmp_path / "out")


def test_what_is_no_model_or_a_taken_folder(trained: tuple[Run, dict[str, Path]], tmp_path: Path) -> None:
    run, sites = trained
    with pytest.raises(ArtefactError, match="There is no model"):
        evaluate(OwnGrid(sites), tmp_path, tmp_path / "out")
    with pytest.raises(ArtefactError, match="already holds a run"):
        evaluate(OwnGrid(sites), run.path / "best", run.path)


@pytest.mark.parametrize("least", [0, -1, True, 2.5, "ten"])
def test_a_floor_is_a_number_of_samples(least: object) -> None:
    with pytest.raises(ConfigError, match="is no number of samples"):
        take_evaluation({"evaluate": "run/best", "min-cell": least})


def test_a_run_without_the_key_is_none() -> None:
    flat = {"evaluate": "", "min-cell": 10, "rounds": 3}
    assert take_evaluation(flat) is None
    assert flat == {"rounds": 3}
