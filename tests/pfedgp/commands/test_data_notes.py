"""What `predict` and `certify` note on the standard error: columns by position, and columns in another unit."""

from pathlib import Path

import numpy as np
import pytest

from pfedgp.cli import main
from pfedgp.commands import predict
from tests.ordered_tables import NAMES, ordered_table, patients
from tests.pfedgp.commands.test_columns import save_model

SCALE = "The column 'crp' is on another scale than in the model's data"
POSITION = "no names of columns, so features are taken by position: make sure of their order."


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PFEDGP_DEBUG", raising=False)
    save_model(Path("run"), columns=list(NAMES))
    ordered_table(Path("a.csv"), 1)
    ordered_table(Path("new.csv"), 2)
    ordered_table(Path("unit.csv"), 2, NAMES[::-1], scale={"crp": 1000.0})
    np.savez("new.npz", x=patients(40, 2)[0])
    assert main(["onboard", "--model", "run/best", "--data", "a.csv", "--out", "site"]) == 0
    capsys.readouterr()
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(list(argv)) == 0
    return capsys.readouterr().err


def predicted(capsys: pytest.CaptureFixture[str], data: str, site: str = "site") -> str:
    return said(capsys, "predict", "--site", site, "--data", data, "--out", "p.csv")


def certified(capsys: pytest.CaptureFixture[str], data: str) -> str:
    return said(capsys, "certify", "--site", "site", "--method", "held-out", "--data", data)


def test_the_same_unit_and_names_are_not_noted(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Note" not in predicted(capsys, "new.csv")
    assert "Note" not in certified(capsys, "new.csv")


def test_another_unit_is_noted_with_its_column(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"Note, by the first 40 samples: {SCALE}" in predicted(capsys, "unit.csv")
    assert f"Note, by all 40 samples: {SCALE}" in certified(capsys, "unit.csv")


def test_the_note_is_of_the_first_part_and_comes_once(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predict, "ROWS", 15)
    assert predicted(capsys, "unit.csv").count("Note, by the first 15 samples: ") == 1


def test_the_standard_output_holds_the_table_alone(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", "--site", "site", "--data", "unit.csv", "--out", "-"]) == 0
    found = capsys.readouterr()
    assert SCALE not in found.out
    assert SCALE in found.err


def test_data_without_names_are_noted_as_by_onboard(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("labelled.npz", x=patients(40, 2)[0], y=np.array(patients(40, 2)[1]))
    assert f"Note, by the first 40 samples: The data have {POSITION}" in predicted(capsys, "new.npz")
    assert f"Note, by all 40 samples: The data have {POSITION}" in certified(capsys, "labelled.npz")
    assert main(["onboard", "--model", "run/best", "--data", "labelled.npz", "--out", "arrays"]) == 0
    assert f"The data have {POSITION}" in capsys.readouterr().out
    assert f"The site has {POSITION}" in predicted(capsys, "new.csv", "arrays")
