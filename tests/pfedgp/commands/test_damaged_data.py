"""Hostile settings and data: a sentence with the file's name, and exit code 2."""

import re
from pathlib import Path

import numpy as np
import psutil
import pytest

from tests.damaged import SETTINGS, archives, ends, images, odd_files, tables, unreadable


@pytest.mark.parametrize("name", SETTINGS)
def test_hostile_settings(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_bytes(SETTINGS[name])
    ends(["simulate", "--config", "s.toml", *([] if name == "null out" else ["--out", "out"])], 2)
    assert not Path("out").exists()


def test_settings_that_are_no_file(tmp_path: Path) -> None:
    for path in (*odd_files(tmp_path, ".toml"), tmp_path, tmp_path / "none.toml"):
        if not path.name.startswith("empty"):
            ends(["simulate", "--config", str(path)], 2, re.escape(str(path)))


@pytest.mark.parametrize("name", archives())
def test_hostile_arrays(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(archives()[name])
    ends(["check-data", str(tmp_path / "a.npz")], 2, r"a\.npz")


@pytest.mark.parametrize("name", tables())
def test_hostile_tables(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(tables()[name])
    ends(["check-data", str(tmp_path / "a.csv")], 2, r"a\.csv")


@pytest.mark.parametrize("name", images())
def test_hostile_images(name: str, tmp_path: Path) -> None:
    (tmp_path / "cat").mkdir()
    (tmp_path / "cat" / "1.png").write_bytes(images()[name])
    ends(["check-data", str(tmp_path)], 2, r"1\.png")


@pytest.mark.parametrize("suffix", [".npz", ".csv", ".parquet"])
def test_data_that_are_no_file(suffix: str, tmp_path: Path) -> None:
    for path in odd_files(tmp_path, suffix):
        ends(["check-data", str(path)], 2, re.escape(str(path)))


def test_parquet_that_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    file = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"a": [1.0, 2.0], "label": ["x", "y"]}), file)
    whole = file.read_bytes()
    for content in (whole[:-20], whole[:4] + bytes(100) + whole[104:], whole[:-8] + b"\xff\xff\xff\x7fPAR1", b"PAR1"):
        file.write_bytes(content)
        ends(["check-data", str(file)], 2, r"a\.parquet")
    # A few bytes that stand for more values than there is memory for.
    parquet.write_table(pyarrow.table({"a": [1.0] * 10**6, "label": ["x"] * 10**6}), file)
    assert file.stat().st_size < 10_000
    free = psutil.virtual_memory()._replace(available=10**7)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free)
    ends(["check-data", str(file)], 2, "of memory, and 10.0 MB are free")


def test_files_and_folders_without_rights(tmp_path: Path) -> None:
    unreadable(tmp_path)


def test_good_data_still_pass(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.eye(4), y=["a", "b", "a", "b"])
    ends(["check-data", str(tmp_path / "a.npz")], 0, "These data can be used")


def test_a_damaged_model_is_a_mistake_of_the_command(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.eye(4), y=["a", "b", "a", "b"])
    (tmp_path / "best").mkdir()
    for content in (b"", b"{" * 100, b"\xff" * 100, (100).to_bytes(8, "little") + b"[" * 100):
        (tmp_path / "best" / "model.safetensors").write_bytes(content)
        ends(["check-data", str(tmp_path / "a.npz"), "--model", str(tmp_path / "best")], 2, r"model\.safetensors")
    ends(["check-data", str(tmp_path / "a.npz"), "--model", str(tmp_path / "none")], 2, "no model")
