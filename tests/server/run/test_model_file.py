"""A model on disk: whole in every crash, equal where its values are, refused where it is damaged."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from pfedgp_core.config import Settings
from pfedgp_core.errors import ArtefactError
from server.run import files
from server.run.artefacts import RunFolder
from server.run.model_file import load_model


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "a" / "run", Settings(), {"pfedgp": "0.1.0"})


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
