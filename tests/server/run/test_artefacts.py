"""The files of a run: settings, rounds and results, on a full disk too, and never NaN."""

import csv
import errno
import json
import math
import os
import tomllib
from pathlib import Path

import numpy as np
import pytest

from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.errors import ArtefactError, NonFiniteError
from pfedgp_core.files.csv_text import split_names
from server.report.html.run_files import read_run
from server.run import files
from server.run.artefacts import RunFolder
from server.run.model_file import load_model
from server.run.origin import UNKNOWN, Origin
from server.run.run_config import read_origin
from server.run.settings import read_settings_file

ROW = {
    "name": "ward, 3",
    "classes": ["cat", "dog"],
    "n_train": 10,
    "n_test": 0,
    "rounds_trained": 2,
    "last_trained_round": None,
    "accuracy": None,
    "nll": 0.25,
    "ece": None,
    "brier": np.float32(0.5),
}


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "a" / "run", Settings(), {"pfedgp": "0.1.0"})


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "fsync", fail)


def test_config_reproduces_the_settings(tmp_path: Path) -> None:
    settings = Settings(rounds=7, data_root='C:\\data "x"\n\x7f\u00e9', gp=GPSettings(jitter=1e-6, sweeps=9))
    info = {"command": "pfedgp\nrounds = 99", "versions": {"torch": "2"}}
    path = RunFolder.create(tmp_path, settings, info).path / "config.toml"
    assert Settings.from_run_config(read_settings_file(path)) == settings
    assert set(tomllib.loads(path.read_text(encoding="utf-8"))["gp"]) >= {"kernel", "sweeps"}


def test_rounds_are_appended_as_json_lines(folder: RunFolder) -> None:
    folder.append_round({"round": 1, "train_loss": np.float32(0.5), "ok": np.int64(2), "best": True})
    folder.append_round({"round": 2, "validation_accuracy": None})
    lines = (folder.path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"round": 1, "train_loss": 0.5, "ok": 2, "best": True},
        {"round": 2, "validation_accuracy": None},
    ]


@pytest.mark.parametrize("value", [math.nan, math.inf, np.float32("nan"), np.array([1.0, np.nan])])
def test_nan_is_refused_everywhere(folder: RunFolder, value: object) -> None:
    vector = np.ones(3, np.float32)
    for write in (
        lambda: folder.append_round({"round": 3, "seconds": {"train": value}}),
        lambda: folder.write_summary({"ece": value}),
        lambda: folder.save_model("best", vector, {"x": value}),
        lambda: folder.save_model("best", np.array([np.nan], np.float32), {}),
    ):
        with pytest.raises(NonFiniteError, match="NaN"):
            write()
    assert sorted(p.name for p in folder.path.iterdir()) == ["config.toml"]


@pytest.mark.usefixtures("full_disk")
def test_full_disk_at_the_start_leaves_no_half_run(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match="No space left"):
        RunFolder.create(tmp_path, Settings(), {})
    assert list(tmp_path.iterdir()) == []


def test_full_disk_keeps_the_former_content(folder: RunFolder, request: pytest.FixtureRequest) -> None:
    folder.append_round({"round": 1})
    folder.save_model("best", np.ones(3, np.float32), {"round": 1})
    request.getfixturevalue("full_disk")
    with pytest.raises(ArtefactError, match="No space left"):
        folder.append_round({"round": 2})
    with pytest.raises(ArtefactError, match="No space left"):
        folder.save_model("best", np.zeros(3, np.float32), {"round": 2})
    assert (folder.path / "metrics.jsonl").read_text() == '{"round": 1}\n'
    vector, meta = load_model(folder.path / "best")
    assert vector.tolist() == [1, 1, 1]
    assert meta == {"round": 1}
    assert not list(folder.path.rglob(".*"))


def test_clients_table(folder: RunFolder) -> None:
    folder.write_clients([ROW])
    with (folder.path / "clients.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert tuple(row) == tuple(ROW)
    assert row["name"] == "ward, 3"
    assert row["classes"] == "cat;dog"
    assert row["accuracy"] == row["last_trained_round"] == "n/a"
    assert row["n_test"] == "0"
    assert float(row["brier"]) == 0.5


def test_a_formula_as_a_name_and_a_separator_in_a_class_read_back_as_they_were(folder: RunFolder) -> None:
    folder.write_clients([{**ROW, "name": "=1+1", "classes": ["a;b", "c"]}])
    (row,) = read_run(folder.path).clients
    assert row["name"] == "=1+1"
    assert split_names(row["classes"]) == ["a;b", "c"]
    assert "\n'=1+1,a\\;b;c," in (folder.path / "clients.csv").read_text()


def test_summary_and_config_name_the_origin_and_keep_the_first_one(folder: RunFolder) -> None:
    folder.write_summary({"status": "failed"})
    assert json.loads((folder.path / "summary.json").read_text())["dataset"] == UNKNOWN
    folder.originate(Settings(), Origin.of(Settings(), 1))
    folder.originate(Settings(), Origin.of(Settings(), 5))  # a run that goes on
    folder.write_summary({"status": "completed", "ece": None})
    repeat = "pfedgp run --config THIS_FILE, at a server with the same sites"
    assert json.loads((folder.path / "summary.json").read_text()) == {
        "status": "completed",
        "ece": None,
        "dataset": "own data of 1 site",
        "run": {"pfedgp": "0.1.0", "data": "own data of 1 site", "repeat": repeat, "own_data": True},
    }
    lines = (folder.path / "config.toml").read_text().splitlines()
    assert lines[:2] == ["# Settings of a pFedGP run on own data of 1 site.", f"# Repeat it with: {repeat}"]
    assert RunFolder(folder.path, read_origin(folder.path)).origin == Origin.of(Settings(), 1)


def test_partition_is_written_as_it_says(folder: RunFolder) -> None:
    class Partition:
        def to_json(self) -> str:
            return '{"hash": "ab"}'

    folder.write_partition(Partition())
    assert json.loads((folder.path / "partition.json").read_text()) == {"hash": "ab"}
