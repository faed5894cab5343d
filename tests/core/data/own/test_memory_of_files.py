"""Small files that stand for more than there is memory for: refused before it is taken, whatever their kind."""

import zipfile
from pathlib import Path

import numpy as np
import psutil
import pytest

from pfedgp_core.data.own import array_file, parquet_table, tables
from pfedgp_core.data.own.reader import read_samples
from tests.data_files import folder, refused


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch):
    """Makes so many bytes all that are free."""

    def only(available: int) -> None:
        memory = psutil.virtual_memory()._replace(available=available)
        monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)

    return only


def test_samples_of_an_archive_are_counted_with_all_that_is_made_of_them(tmp_path: Path, free) -> None:
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros((1000, 1), np.uint8), y=np.zeros(1000, np.uint8))
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        needed = sum(info.file_size for info in archive.infolist()) + 1000 * (array_file.SAMPLE + 4)
    free(needed - 1)
    assert "takes 206.3 kB of memory" in refused(tmp_path / "a.npz")
    free(needed)
    assert len(read_samples(tmp_path / "a.npz")) == 1000


def test_labels_that_do_not_fit_are_refused_before_anything_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros((1000, 3)), y=np.zeros(3))
    monkeypatch.setattr(np.lib.format, "read_array", lambda *_, **__: pytest.fail("an array was unpacked"))
    assert "1000 inputs and labels of shape [3]" in refused(tmp_path / "a.npz")


def test_images_are_counted_with_those_before(tmp_path: Path, free) -> None:
    images = folder(tmp_path / "images")
    free(400)  # the first takes 288 while it is decoded, and each that is kept 48 more
    assert "it and the images before take 432 B of memory, and 400 B are free" in refused(images)
    free(528)
    assert len(read_samples(images)) == 6


def test_rows_of_a_csv_file_are_counted_while_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free
) -> None:
    monkeypatch.setattr(tables, "_LOOK_AFTER", 2)
    (tmp_path / "t.csv").write_text("a,b,label\n" + "1,2,x\n3,4,y\n" * 3)
    free(80)
    assert "it takes 96 B of memory, and 80 B are free" in refused(tmp_path / "t.csv")
    free(96)
    assert len(read_samples(tmp_path / "t.csv")) == 6


def test_a_text_of_a_parquet_file_is_read_once(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    text, rows = "x" * 10**5, 2000
    label = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * rows), pyarrow.array([text]))
    table = pyarrow.table({"a": [1.0] * rows, "label": label})
    parquet.write_table(table, tmp_path / "t.parquet", store_schema=False)
    assert (tmp_path / "t.parquet").stat().st_size < 10**5
    ((read, _, _),) = parquet_table._read(tmp_path / "t.parquet", None)
    assert read["a"] == [1.0] * rows
    assert read["label"] == [text] * rows
    assert len({id(label) for label in read["label"]}) == 1
