"""``pfedgp predict --explain``: ids and weights in the table, and the probability without these samples."""

import csv
from pathlib import Path

import numpy as np
import pytest

from pfedgp.cli import main
from pfedgp_core.site.explanation import Explainer
from pfedgp_core.site.saved import SavedSite
from tests.core.site.test_forgetting import named_site
from tests.core.site.test_saved import data


@pytest.fixture
def here(tmp_path: Path) -> Path:
    named_site(range(60)).save(tmp_path / "ward")
    np.savez(tmp_path / "new.npz", x=data(10, seed=1).inputs)
    return tmp_path


def predict(here: Path, *options: str) -> int:
    fixed = ["--site", str(here / "ward"), "--data", str(here / "new.npz"), "--out", str(here / "p.csv")]
    return main(["predict", *fixed, *options])


def test_the_columns_are_those_of_the_explanation(here: Path) -> None:
    assert predict(here, "--explain", "3") == 0
    with (here / "p.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    site = SavedSite.load(here / "ward")
    features = site.features(data(10, seed=1).inputs)
    found = Explainer(site, 3).explain(features, site.predict_features(features).predicted)
    for row, ids, weights, without in zip(rows, found.ids, found.weights, found.without, strict=True):
        assert row["because"] == ";".join(f"{one}:{weight:.3g}" for one, weight in zip(ids, weights, strict=True))
        assert float(row["without"]) == pytest.approx(without, abs=1e-5)
    assert ids[0].startswith("a")


@pytest.mark.parametrize("count", ["0", "61"])
def test_a_count_that_cannot_be_is_refused(here: Path, count: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert predict(here, "--explain", count) == 2
    assert f"--explain {count}" in capsys.readouterr().err
    assert not (here / "p.csv").exists()


def test_a_site_without_ids_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "ward" / "samples.json").unlink()
    assert predict(here, "--explain", "3") == 2
    assert "knows no ids" in capsys.readouterr().err
