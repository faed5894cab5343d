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


def test_groups_go_along_and_can_be_forgotten(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head, *rows = Path("all.csv").read_text().splitlines()
    lines = [f"{head.removesuffix('label')}outcome,who", *(f"{row},p{i // 4}" for i, row in enumerate(rows))]
    Path("who.csv").write_text("\n".join(lines) + "\n")
    options = ["--dataset", "who.csv", "--label-column", "outcome", "--group-column", "who"]
    more = ["--clients", "3", "--classes-per-client", "2", "--client", "client-02", "--out", "c2"]
    assert main(["export-client", *options, *more]) == 0
    known = {",".join(line.split(",")[:3]): line.split(",")[4] for line in lines[1:]}
    owners = {}
    for part in ("train", "validation", "test"):
        with np.load(f"c2/{part}.npz") as exported:
            texts = [",".join(f"{value:.4f}" for value in row) for row in exported["inputs"]]
            assert exported["groups"].tolist() == [known[text] for text in texts]
            owners[part] = set(exported["groups"].tolist())
    assert not owners["train"] & owners["test"]
    assert main(["onboard", "--model", "run/best", "--data", "c2", "--out", "site"]) == 0
    before = len(SavedSite.load("site").samples)
    group = sorted(owners["train"])[0]
    assert main(["forget", "--site", "site", "--group", group]) == 0
    with np.load("c2/train.npz") as exported:
        assert before - len(SavedSite.load("site").samples) == exported["groups"].tolist().count(group) > 0


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
