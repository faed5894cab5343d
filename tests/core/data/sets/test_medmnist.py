"""MedMNIST's files, grey and coloured, and what is said of others."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from pfedgp_core.data.datasets import load_dataset
from pfedgp_core.data.sets.medmnist import CHECKSUMS
from pfedgp_core.errors import DataError
from pfedgp_core.files.checksum import md5_of
from tests.image_files import write_medmnist


@pytest.mark.parametrize(("shape", "input_shape"), [((28, 28), (1, 28, 28)), ((28, 28, 3), (3, 28, 28))])
def test_grey_and_coloured_images(tmp_path: Path, shape: tuple[int, ...], input_shape: tuple[int, ...]) -> None:
    data = load_dataset("medmnist", str(write_medmnist(tmp_path / "a.npz", shape)))
    assert (data.input_shape, data.class_names) == (input_shape, ("0", "1", "2"))
    assert [len(s) for s in data.splits().values()] == [12, 6, 6]


def test_pixels_and_labels_are_those_of_the_file(tmp_path: Path) -> None:
    path = write_medmnist(tmp_path / "a.npz", (28, 28, 3))
    data = load_dataset("medmnist", str(path))
    with np.load(path) as raw:
        assert np.array_equal(data.validation.inputs, raw["val_images"].transpose(0, 3, 1, 2))
        assert np.array_equal(data.validation.labels, raw["val_labels"][:, 0])


def test_a_folder_with_one_file(tmp_path: Path) -> None:
    write_medmnist(tmp_path / "a.npz")
    assert len(load_dataset("medmnist", str(tmp_path)).train) == 12


def test_a_folder_with_two_files(tmp_path: Path) -> None:
    shutil.copy(write_medmnist(tmp_path / "a.npz"), tmp_path / "b.npz")
    with pytest.raises(DataError, match=r"holds 2 sets \(a.npz, b.npz\): set data-root to the one to take"):
        load_dataset("medmnist", str(tmp_path))


def test_a_folder_that_holds_other_sets_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_medmnist(tmp_path / "bloodmnist.npz")
    monkeypatch.setitem(CHECKSUMS, path.name, md5_of(path))
    np.savez(tmp_path / "another.npz", x=np.zeros(3))
    assert len(load_dataset("medmnist", str(tmp_path)).train) == 12


def test_a_missing_folder_is_called_one(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"There is no folder .*/nothing: set data-root to a file of MedMNIST"):
        load_dataset("medmnist", str(tmp_path / "nothing"))


@pytest.mark.parametrize(
    ("root", "words"),
    [
        (
            "",
            r"curl -L --create-dirs -o .*/pneumoniamnist.npz https://zenodo.org/records/10519652/files/pneumoniamnist",
        ),
        ("pathmnist.npz", "curl -L --create-dirs -o .*/pathmnist.npz https://.*/files/pathmnist.npz"),
    ],
)
def test_a_missing_file_says_how_to_get_it(tmp_path: Path, root: str, words: str) -> None:
    with pytest.raises(DataError, match=f"set data-root to .*{words}"):
        load_dataset("medmnist", str(tmp_path / root))


def test_a_published_name_with_another_checksum(tmp_path: Path) -> None:
    path = write_medmnist(tmp_path / "bloodmnist.npz")
    with pytest.raises(DataError, match=r"its checksum is .* published bloodmnist.npz is 7053d0.*delete it and fetch"):
        load_dataset("medmnist", str(path))


def test_a_cut_file(tmp_path: Path) -> None:
    path = write_medmnist(tmp_path / "a.npz")
    path.write_bytes(path.read_bytes()[:-300])
    with pytest.raises(DataError, match=r"a.npz cannot be used \(it is no zip archive, or cut\): delete it and fetch"):
        load_dataset("medmnist", str(path))


def test_a_file_with_a_changed_byte(tmp_path: Path) -> None:
    path = write_medmnist(tmp_path / "a.npz")
    content = bytearray(path.read_bytes())
    content[500] ^= 255
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.npz cannot be used"):
        load_dataset("medmnist", str(path))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"val_images": np.zeros((6, 28, 28, 28), np.uint8)}, "holds volumes"),
        ({"train_labels": np.zeros((12, 14), np.uint8)}, "14 labels per image"),
        ({"train_labels": np.zeros(11, np.uint8)}, "12 images and 11 labels in the part train"),
        ({"test_labels": np.zeros(6)}, "no class ids"),
        ({"test_labels": np.full(6, 5000)}, "the class id 5000"),
        ({"test_labels": np.full(6, -1)}, "no class ids"),
        ({"test_images": np.zeros((6, 28, 28))}, r"test_images of float64 \[6, 28, 28\]"),
        ({"test_images": np.zeros((6, 8, 8), np.uint8)}, "images of the shapes"),
        ({"train_images": np.zeros((0, 28, 28), np.uint8), "train_labels": np.zeros(0, np.uint8)}, "no training"),
    ],
)
def test_what_is_no_such_set(tmp_path: Path, changes: dict[str, np.ndarray], words: str) -> None:
    path = write_medmnist(tmp_path / "a.npz", **changes)
    with pytest.raises(DataError, match=words):
        load_dataset("medmnist", str(path))


def test_a_file_of_other_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.zeros(3))
    with pytest.raises(DataError, match="it has no array train_images, where train_images, val_images and test_images"):
        load_dataset("medmnist", str(tmp_path / "a.npz"))
