"""``pfedgp suggest`` from the command line."""

import json
from pathlib import Path

import numpy as np
import pytest

from pfedgp.cli import main
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.site.suggestion import suggest
from tests.core.site.test_forgetting import named_site
from tests.core.site.test_saved import data


@pytest.fixture
def here(tmp_path: Path) -> Path:
    named_site(range(30), 30).save(tmp_path / "ward")
    np.savez(tmp_path / "pool.npz", x=data(40, seed=3).inputs)
    return tmp_path


def test_the_ids_are_those_of_the_pool(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["suggest", "--site", str(here / "ward"), "--pool", str(here / "pool.npz"), "--count", "7"]
    assert main([*argv, "--json"]) == 0
    found, site = json.loads(capsys.readouterr().out), SavedSite.load(here / "ward")
    expected = suggest(site, site.features(data(40, seed=3).inputs), 7)
    assert [one["id"] for one in found["samples"]] == [str(row + 1) for row in expected.rows.tolist()]
    assert found["pool"] == 40
    assert main(argv) == 0
    assert capsys.readouterr().out.count("\n") == 8


def test_no_samples_are_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["suggest", "--site", str(here / "ward"), "--pool", str(here / "pool.npz"), "--count", "0"]
    assert main(argv) == 2
    assert "--count 0" in capsys.readouterr().err


def test_an_id_stays_in_its_column(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [[f"scan\t{i}", *(f"{value:.4f}" for value in row)] for i, row in enumerate(data(4, seed=3).inputs)]
    (here / "pool.csv").write_text("\n".join(",".join(row) for row in [["id", *"abcde"], *rows]) + "\n")
    argv = ["suggest", "--site", str(here / "ward"), "--pool", str(here / "pool.csv"), "--id-column", "id"]
    assert main(argv) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.count("\t") for line in lines] == [2] * 5
    assert lines[1].startswith("scan\\t")
