"""Arrays in .npz files: layouts, names of classes, faults."""

from pathlib import Path

import numpy as np
import pytest

from pfedgp_core.data.own.reader import read_samples
from tests.data_files import IMAGES, NAMES, refused


@pytest.mark.parametrize("shape", [(6, 8, 6), (6, 1, 8, 6), (6, 8, 6, 1)])
def test_npz_layouts(shape: tuple[int, ...], tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", images=IMAGES.reshape(shape), y=np.array(NAMES))
    samples = read_samples(tmp_path / "a.npz", input_shape=(1, 8, 6))
    np.testing.assert_array_equal(samples.inputs[:, 0], IMAGES)
    assert samples.labels == tuple(NAMES)
    assert samples.ids[:2] == ("1", "2")
    assert "give --resize" in refused(tmp_path / "a.npz", input_shape=(1, 4, 4))
    resized = read_samples(tmp_path / "a.npz", input_shape=(3, 4, 4), resize=True)
    assert resized.inputs.shape == (6, 3, 4, 4)


def test_npz_class_names_are_the_file_s_own(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.eye(2), labels=[1, 0], class_names=["dog", "cat"])
    samples = read_samples(tmp_path / "a.npz")
    assert samples.labels == ("cat", "dog")
    assert samples.inputs.dtype == np.float32
    np.savez(tmp_path / "b.npz", x=np.eye(2), labels=[1, 2], class_names=["dog", "cat"])
    assert "labels a sample '2'" in refused(tmp_path / "b.npz")


@pytest.mark.parametrize(
    ("arrays", "expected"),
    [
        ({"labels": [1]}, "none of inputs, images"),
        ({"x": np.eye(2)}, "none of labels, y"),
        ({"x": np.eye(2), "y": [1]}, "2 inputs and labels of shape [1]"),
        ({"x": np.zeros((2, 2, 2), complex), "y": [0, 1]}, "give images [N, C, H, W]"),
        ({"x": np.array([[1.0], [np.nan]]), "y": [0, 1]}, "NaN or infinity in 1 of 2 samples (the first is row 2)"),
        ({"x": np.eye(2), "y": ["a", ""]}, "No class for 1 of 2 samples"),
        ({"x": np.zeros((0, 2)), "y": np.zeros(0, int)}, "no sample"),
        ({"x": np.eye(2), "y": np.array([{}, {}], dtype=object)}, "Python objects"),
    ],
)
def test_bad_archives(arrays: dict[str, np.ndarray], expected: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    assert expected in refused(tmp_path / "a.npz")


def test_npz_with_a_class_named_twice(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.eye(2), labels=[1, 0], class_names=["dog", "dog"])
    assert "names the class 'dog' twice" in refused(tmp_path / "a.npz")
