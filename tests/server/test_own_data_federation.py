"""Federations of sites with data of their own, of several kinds: they learn together."""

from pathlib import Path

import numpy as np
import pytest

from pfedgp_core.errors import ConfigError
from server.clients.roster import Roster
from server.run.model_file import load_model
from tests.federation_run import start
from tests.own_sites import OWN, OwnGrid, rows_of, table, three_image_sites, vector_archive

pytestmark = pytest.mark.slow


def test_three_sites_of_three_kinds_learn_together(tmp_path: Path) -> None:
    run = start(OwnGrid(three_image_sites(tmp_path), state=""), OWN, tmp_path / "run")
    assert run.summary["status"] == "completed"
    assert [record["ok"] for record in run.records] == [3] * 6
    # Each site has four classes, so chance is a quarter.
    assert run.summary["accuracy"] > 0.8
    _, meta = load_model(tmp_path / "run" / "final")
    assert meta["class_names"] == [f"d{i}" for i in range(8)]
    assert meta["input_shape"] == [1, 8, 8]
    assert meta["clients"] == ["ward-a", "ward-b", "ward-c"]
    assert "dataset" not in meta["settings"]


def test_tables_and_vectors_learn_together(tmp_path: Path) -> None:
    sites = {
        "lab-1": table(tmp_path / "one.csv", rows_of(0, 1, 2, part=0)),
        "lab-2": vector_archive(tmp_path / "two.npz", rows_of(1, 2, 3, part=1)),
        "lab-3": table(tmp_path / "three.csv", rows_of(0, 3, part=2)),
    }
    run = start(OwnGrid(sites), OWN, tmp_path / "run")
    assert run.summary["accuracy"] > 0.8
    assert load_model(tmp_path / "run" / "final")[1]["input_shape"] == [64]


@pytest.mark.parametrize("setting", [{"class_names": "a,,b"}, {"class_names": "a,a"}, {"input_shape": "3x32"}])
def test_settings_that_cannot_be_read_end_before_anybody_is_greeted(setting: dict) -> None:
    with pytest.raises(ConfigError):
        Roster(OWN.replace(**setting))


def test_a_regression_on_own_tables(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        x = rng.normal(size=(90, 3))
        y = x @ [2.0, -1.0, 0.5] + 10
        lines = [",".join(f"{v:.6f}" for v in (*row, target)) for row, target in zip(x, y, strict=True)]
        (tmp_path / f"{name}.csv").write_text("u,v,w,label\n" + "\n".join(lines) + "\n")
    settings = OWN.replace(task="regression", clients_per_round=2, min_clients=2)
    run = start(OwnGrid({n: tmp_path / f"{n}.csv" for n in "ab"}), settings, tmp_path / "run")
    assert run.summary["status"] == "completed"
    assert run.summary["rmse"] < 1.5
