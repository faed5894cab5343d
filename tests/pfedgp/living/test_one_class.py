"""A site of one class is sure of every answer: the verbs that live on its doubts say so."""

import json
from pathlib import Path

import numpy as np
import pytest

from pfedgp.cli import main
from tests.core.site.test_saved import CLASSES, data, site_of


@pytest.fixture
def argv(tmp_path: Path) -> list[str]:
    site_of(held=(1,)).save(tmp_path / "ward")
    split = data(12, seed=7)
    np.savez(tmp_path / "new.npz", x=split.inputs, y=np.array(CLASSES)[split.labels])
    return ["--site", str(tmp_path / "ward"), "--json"]


def test_suggest_says_that_the_variance_decides(
    argv: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["suggest", *argv, "--pool", str(tmp_path / "new.npz")]) == 0
    said = capsys.readouterr()
    assert "by the remaining variance alone" in said.err
    assert json.loads(said.out)["by"] == "variance"


def test_learn_says_that_there_is_no_gate(argv: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", *argv, "--data", str(tmp_path / "new.npz")]) == 0
    said = capsys.readouterr()
    assert "the labels were not judged" in said.err
    assert json.loads(said.out)["judged"] is False


def test_once_there_are_two_classes_there_is_a_gate(
    argv: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["learn", *argv, "--data", str(tmp_path / "new.npz")])
    capsys.readouterr()
    main(["learn", *argv, "--data", str(tmp_path / "new.npz")])
    said = capsys.readouterr()
    assert "the labels were not judged" not in said.err
    assert json.loads(said.out)["judged"] is True
