"""Archives with splits of their own, as MedMNIST's are."""

from pathlib import Path

import numpy as np
import pytest

from pfedgp.cli import main
from pfedgp_core.data.own.blocks import read_blocks
from pfedgp_core.data.own.kinds import split_paths
from pfedgp_core.data.own.reader import read_splits
from tests.data_files import refused
from tests.image_files import write_medmnist


def test_each_part_is_read_as_its_own(tmp_path: Path) -> None:
    file = write_medmnist(tmp_path / "a.npz")
    arrays = np.load(file)
    parts = read_splits(file)
    assert list(parts) == ["train", "validation", "test"]
    for part, prefix in (("train", "train"), ("validation", "val"), ("test", "test")):
        np.testing.assert_array_equal(parts[part].inputs[:, 0], arrays[f"{prefix}_images"])
        assert parts[part].labels == tuple(map(str, arrays[f"{prefix}_labels"][:, 0]))


def test_a_part_has_a_path(tmp_path: Path) -> None:
    file = write_medmnist(tmp_path / "a.npz")
    assert split_paths(file) == {part: file / part for part in ("train", "validation", "test")}
    assert f"such as {file / 'train'}" in refused(file)
    blocks = list(read_blocks(file / "test", input_shape=(1, 28, 28), rows=4))
    assert [len(samples) for samples, _ in blocks] == [4, 2]


def test_check_data_counts_every_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-data", str(write_medmnist(tmp_path / "a.npz"))]) == 0
    said = capsys.readouterr().out
    assert "train: numpy archive, 12 usable samples" in said
    assert "validation: numpy archive, 6 usable samples" in said


def test_an_archive_without_training_data_has_no_parts(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", test_images=np.zeros((2, 8, 8), np.uint8), test_labels=[0, 1])
    assert split_paths(tmp_path / "a.npz") is None
    assert "none of inputs, images" in refused(tmp_path / "a.npz")
