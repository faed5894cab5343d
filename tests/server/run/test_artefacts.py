"""The run folder: nothing overwritten, nothing half written, nothing damaged read."""

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
from server.run import files
from server.run.artefacts import RunFolder
from server.run.files import write_whole
from server.run.model_file import load_model
from server.run.new_folder import check_new_folder
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


def test_a_used_folder_is_refused_and_left_alone(folder: RunFolder) -> None:
    before = (folder.path / "config.toml").read_bytes()
    for refuse in (check_new_folder, lambda path: RunFolder.create(path, Settings(seed=5), {})):
        with pytest.raises(ArtefactError, match=r"already holds a run: give another one with --out"):
            refuse(folder.path)
    assert (folder.path / "config.toml").read_bytes() == before


def test_of_two_runs_at_once_one_gets_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    RunFolder.create(tmp_path, Settings(), {})
    monkeypatch.setattr("server.run.artefacts.refuse_used", lambda path: None)
    with pytest.raises(ArtefactError, match="already holds a run"):
        RunFolder.create(tmp_path, Settings(), {})


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("mine")
    for refuse in (check_new_folder, lambda path: RunFolder.create(path, Settings(), {})):
        with pytest.raises(ArtefactError, match="is not empty: give a folder of its own"):
            refuse(tmp_path)
    assert [f.read_text() for f in tmp_path.iterdir()] == ["mine"]


def test_a_link_is_written_through_and_a_device_not_at_all(tmp_path: Path) -> None:
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("old")
    link.symlink_to(target)
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ArtefactError, match="no regular file"):
        write_whole(tmp_path / "pipe", "new")


def test_check_leaves_nothing_behind(tmp_path: Path) -> None:
    check_new_folder(tmp_path / "deep" / "er")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("below", ["", "sub/run"])
def test_a_file_in_the_way(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArtefactError, match="file"):
        check_new_folder(tmp_path / "file" / below)


def test_a_folder_without_write_rights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, *args: object, **kwargs: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(ArtefactError, match=r"Cannot write .*run \(Permission denied\): make room and rights"):
        check_new_folder(tmp_path / "run")


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


def test_model_round_trip_and_replacement(folder: RunFolder) -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 1000)).astype(np.float32)
    meta = {"round": 4, "class_names": ["a", "\u00e9"], "accuracy": np.float64(0.5)}
    folder.save_model("best", first, {"round": 3})
    folder.save_model("best", second, meta)
    folder.save_model("final", first[::2], {})
    vector, loaded = load_model(folder.path / "best")
    np.testing.assert_array_equal(vector, second)
    assert loaded == {"round": 4, "class_names": ["a", "\u00e9"], "accuracy": 0.5}
    assert json.loads((folder.path / "best" / "meta.json").read_text()) == loaded
    np.testing.assert_array_equal(load_model(folder.path / "final")[0], first[::2])
    assert sorted(p.name for p in (folder.path / "best").iterdir()) == ["meta.json", "model.safetensors"]


@pytest.mark.parametrize("vector", [np.ones(3), np.ones((2, 2), np.float32)])
def test_only_a_float32_vector_is_a_model(folder: RunFolder, vector: np.ndarray) -> None:
    with pytest.raises(ArtefactError, match="give a float32 vector"):
        folder.save_model("final", vector, {})


def test_a_crash_between_the_two_files_leaves_a_consistent_model(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.save_model("best", np.ones(2, np.float32), {"round": 1})
    replace = os.replace

    def crash(source: Path, target: Path) -> None:
        if target.name == "meta.json":
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(files.os, "replace", crash)
    with pytest.raises(KeyboardInterrupt):
        folder.save_model("best", np.zeros(2, np.float32), {"round": 2})
    vector, meta = load_model(folder.path / "best")
    assert vector.tolist() == [0, 0]
    assert meta == {"round": 2}


def test_damaged_models_are_refused(folder: RunFolder) -> None:
    with pytest.raises(ArtefactError, match="There is no model"):
        load_model(folder.path / "best")
    folder.save_model("best", np.ones(100, np.float32), {"round": 1})
    file = folder.path / "best" / "model.safetensors"
    whole = file.read_bytes()
    flipped = bytearray(whole)
    flipped[-5] ^= 1
    for damaged in (
        b"",
        whole[:50],
        whole[:-4],
        bytes(flipped),
        b"\0" * len(whole),
        whole.replace(b"sha256", b"sha255"),
    ):
        file.write_bytes(damaged)
        with pytest.raises(ArtefactError, match="is damaged"):
            load_model(file.parent)


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


def test_summary_names_the_origin(folder: RunFolder) -> None:
    folder.write_summary({"status": "completed", "ece": None})
    assert json.loads((folder.path / "summary.json").read_text()) == {
        "status": "completed",
        "ece": None,
        "run": {"pfedgp": "0.1.0"},
    }


def test_partition_is_written_as_it_says(folder: RunFolder) -> None:
    class Partition:
        def to_json(self) -> str:
            return '{"hash": "ab"}'

    folder.write_partition(Partition())
    assert json.loads((folder.path / "partition.json").read_text()) == {"hash": "ab"}


def test_equal_models_are_equal_files(tmp_path: Path) -> None:
    vector, files = np.arange(5, dtype=np.float32), set()
    for i in range(8):  # the library orders the header by chance
        run = RunFolder.create(tmp_path / str(i), Settings(), {})
        run.save_model("best", vector, {"round": 3, "class_names": ["ä"]})
        files.add((run.path / "best" / "model.safetensors").read_bytes())
        loaded, meta = load_model(run.path / "best")
        assert loaded.tobytes() == vector.tobytes()
        assert meta["class_names"] == ["ä"]
    assert len(files) == 1
