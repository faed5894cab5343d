"""``pfedgp initial``: a model before round 1, with which a site is useful without any training."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from pfedgp.cli import main
from pfedgp_core.backbones import VARIABLE
from pfedgp_core.config import Settings
from pfedgp_core.data.datasets import load_dataset
from pfedgp_core.model.shared import SharedState
from server.run.model_file import load_model
from tests.backbones import write_backbone


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, "")
    dataset = load_dataset("digits")
    for name, rows in (("own", range(60)), ("new", range(60, 70))):
        np.savez(tmp_path / f"{name}.npz", x=dataset.train.inputs[list(rows)], y=dataset.train.labels[list(rows)])
    write_backbone(tmp_path / "small.ts")
    return tmp_path


FROZEN = ("--network", "frozen:small", "--backbone", "small=small.ts")


def test_a_site_onboards_with_a_frozen_backbone_and_no_training(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["initial", *FROZEN, "--data", "own.npz", "--out", "start"]) == 0
    monkeypatch.setenv(VARIABLE, "")
    given = ["--backbone", "small=small.ts"]
    assert main(["onboard", "--model", "start", "--data", "own.npz", "--out", "site", *given]) == 0
    assert main(["predict", "--site", "site", "--data", "new.npz", "--out", "p.csv", *given]) == 0
    assert len(list(csv.DictReader((here / "p.csv").open()))) == 10


def test_a_site_without_the_weights_says_so(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["initial", *FROZEN, "--data", "own.npz", "--out", "start"]) == 0
    monkeypatch.setenv(VARIABLE, "")
    onboard = ["onboard", "--model", "start", "--data", "own.npz", "--out", "site"]
    assert main(onboard) == 2
    assert "The weights of network = 'frozen:small' are not here: start with --backbone" in capsys.readouterr().err
    write_backbone(here / "other.ts", seed=1)
    assert main([*onboard, "--backbone", "small=other.ts"]) == 2
    assert "and the run wants" in capsys.readouterr().err


def test_the_model_is_that_of_round_0(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = ["--set", "input-shape=1,8,8", "--set", "class-names=a,b,c", "--mean", ".5", "--std", ".25"]
    assert main(["initial", *said, "--seed", "3", "--out", "start", "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    assert (about["format"], about["schema_version"], about["class_names"]) == ("pfedgp-initial", 1, ["a", "b", "c"])
    vector, meta = load_model(here / "start")
    assert (vector == SharedState.initial(Settings(seed=3), (1, 8, 8), 3).to_vector()).all()
    assert meta["normalisation"] == {"mean": [0.5], "std": [0.25]}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ([], "give --data PATH, or else --set input-shape"),
        (["--data", "own.npz", "--mean", "1"], "leave out the one or the others"),
        (["--set", "input-shape=1,8,8", "--set", "class-names=a,b", "--mean", "1,2", "--std", "1"], "is not 1 numbers"),
        (["--set", "input-shape=1,8,8", "--set", "class-names=a,b", "--mean", "1", "--std", "0"], "is not positive"),
        (["--data", "own.npz", "--method", "fedavg"], "cannot be published, onboarded or certified"),
    ],
)
def test_mistakes(here: Path, options: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["initial", *options, "--out", "start"]) == 2
    assert text in capsys.readouterr().err
    assert not (here / "start").exists()


@pytest.mark.parametrize("name", ["frozen:lung", f"frozen:lung:12:{64 * '0'}"])
def test_a_simulation_without_the_weights_does_not_begin(
    here: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", "--network", name, "--out", "run"]) == 2
    assert "start with --backbone lung=FILE" in capsys.readouterr().err
    assert not (here / "run").exists()
