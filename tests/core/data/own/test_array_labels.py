"""Labels in arrays: in columns for each class, several at once, and as Python objects."""

from pathlib import Path

import numpy as np
import pytest

from pfedgp_core.data.own.reader import check_data, read_samples
from tests.data_files import IMAGES, refused


def archive(path: Path, labels: object, **more: object) -> Path:
    np.savez(path, images=IMAGES, labels=np.asarray(labels), **more)  # type: ignore[arg-type]
    return path


@pytest.mark.parametrize("kind", [np.uint8, np.float64, np.bool_])
def test_a_column_for_each_class_is_read(kind: type, tmp_path: Path) -> None:
    file = archive(tmp_path / "a.npz", np.eye(3, dtype=kind)[[0, 1, 2, 2, 1, 0]])
    assert read_samples(file).labels == ("0", "1", "2", "2", "1", "0")
    assert "a column for each class" in check_data(file).text()
    named = archive(tmp_path / "b.npz", np.eye(3, dtype=kind)[[0, 1, 2, 2, 1, 0]], class_names=["a", "b", "c"])
    assert read_samples(named).labels == ("a", "b", "c", "c", "b", "a")


def test_several_labels_a_sample_are_refused_by_name(tmp_path: Path) -> None:
    labels = np.zeros((6, 14), np.uint8)
    labels[:, 3] = 1
    labels[2, :2] = 1
    labels[4] = 0
    said = refused(archive(tmp_path / "a.npz", labels))
    assert "1 samples with several of 14 labels and 1 with none (the first is row 3)" in said
    assert "one class a sample" in said


def test_columns_of_other_numbers_are_refused(tmp_path: Path) -> None:
    assert "not all 0 or 1" in refused(archive(tmp_path / "a.npz", np.full((6, 2), 0.5)))
    assert "not all 0 or 1" in refused(archive(tmp_path / "b.npz", np.full((6, 2), "a")))


def test_python_objects_are_refused_and_never_loaded(tmp_path: Path) -> None:
    assert "Python objects" in refused(archive(tmp_path / "a.npz", np.array(list("abcabc"), object)))
