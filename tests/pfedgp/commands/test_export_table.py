"""A client of a simulated table as files: its columns keep their names, and a site made from it takes them by name."""

from pathlib import Path

import numpy as np
import pytest

from pfedgp.cli import main
from pfedgp_core.data.sets.own_data import OwnData, own_data
from pfedgp_core.site.saved import SavedSite
from tests.ordered_tables import NAMES, ordered_table
from tests.pfedgp.commands.test_columns import OTHER, save_model


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save_model(Path("run"), columns=list(NAMES))
    ordered_table(Path("all.csv"), 1, OTHER, n=200)
    options = ["--dataset", "all.csv", "--clients", "4", "--classes-per-client", "2", "--client", "client-03"]
    assert main(["export-client", *options, "--out", "c0"]) == 0
    return tmp_path


def test_the_files_hold_the_names_and_the_values_to_the_bit(here: Path) -> None:
    whole = {row.tobytes() for split in own_data(OwnData("all.csv")).splits().values() for row in split.inputs}
    for part in ("train", "validation", "test"):
        with np.load(f"c0/{part}.npz") as exported:
            assert tuple(exported["columns"]) == OTHER
            assert {row.tobytes() for row in exported["inputs"]} <= whole


def test_a_site_made_from_it_takes_columns_by_name(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-data", "c0", "--model", "run/best"]) == 0
    assert main(["onboard", "--model", "run/best", "--data", "c0", "--out", "site"]) == 0
    assert "by position" not in capsys.readouterr().out
    assert SavedSite.load("site").columns == NAMES
    found = []
    for name, order in (("one", NAMES), ("other", OTHER)):
        ordered_table(Path(f"{name}.csv"), 2, order)
        assert main(["predict", "--site", "site", "--data", f"{name}.csv", "--out", name]) == 0
        found.append(Path(name).read_bytes())
    assert found[0] == found[1]
    assert main(["predict", "--site", "site", "--data", "c0/test.npz", "--out", "p.csv"]) == 0
    ordered_table(Path("wrong.csv"), 2, names={"crp": "CRP"})
    assert main(["predict", "--site", "site", "--data", "wrong.csv", "--out", "p.csv"]) == 2
    assert "lacks the column 'crp'" in capsys.readouterr().err
