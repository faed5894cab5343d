"""MNIST and Fashion-MNIST from IDX files, and what is said where these are missing or damaged."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from pfedgp.cli import main
from pfedgp_core.data.datasets import load_dataset
from pfedgp_core.data.sets import fashion_mnist, mnist
from pfedgp_core.errors import DataError
from tests.image_files import idx_bytes, write_idx_files

FOLDERS = {"mnist": "MNIST", "fashion-mnist": "FashionMNIST"}
CHECKSUMS = {"mnist": mnist.CHECKSUMS, "fashion-mnist": fashion_mnist.CHECKSUMS}


@pytest.fixture
def no_checksums(monkeypatch: pytest.MonkeyPatch) -> None:
    for known in CHECKSUMS.values():
        for name in known:
            monkeypatch.setitem(known, name, "")


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("place", ["{}/raw", "raw", "."])
@pytest.mark.usefixtures("no_checksums")
def test_files_are_found_where_they_lie(tmp_path: Path, name: str, packed: bool, place: str) -> None:
    write_idx_files(tmp_path / place.format(FOLDERS[name]), packed)
    data = load_dataset(name, str(tmp_path))
    assert [len(s) for s in data.splits().values()] == [50, 10, 20]
    assert (data.input_shape, len(data.class_names)) == ((1, 28, 28), 10)


def test_images_and_labels_are_those_of_the_files(tmp_path: Path) -> None:
    write_idx_files(tmp_path)
    data = load_dataset("mnist", str(tmp_path))
    written = (tmp_path / "t10k-images-idx3-ubyte").read_bytes()[16:]
    assert data.test.inputs.tobytes() == written
    assert data.test.labels.tolist() == list((tmp_path / "t10k-labels-idx1-ubyte").read_bytes()[8:])
    assert np.bincount(data.validation.labels).tolist() == [1] * 10


def test_torchvision_finds_the_same_images(tmp_path: Path) -> None:
    from torchvision.datasets import MNIST

    write_idx_files(tmp_path / "MNIST" / "raw")
    theirs = MNIST(str(tmp_path), train=False)
    data = load_dataset("mnist", str(tmp_path))
    assert np.array_equal(data.test.inputs[:, 0], theirs.data.numpy())


@pytest.mark.parametrize("name", FOLDERS)
def test_checksums_are_torchvisions(name: str) -> None:
    from torchvision import datasets

    assert dict(getattr(datasets, FOLDERS[name]).resources) == CHECKSUMS[name]


@pytest.mark.parametrize("name", FOLDERS)
def test_missing_files_say_how_to_get_them(tmp_path: Path, name: str) -> None:
    command = rf"from torchvision.datasets import {FOLDERS[name]}; {FOLDERS[name]}\('{tmp_path}', download=True\)"
    with pytest.raises(
        DataError, match=f"lacks {FOLDERS[name]}/raw/train-images-idx3-ubyte .*set data-root.*{command}"
    ):
        load_dataset(name, str(tmp_path))


def test_a_packed_file_with_another_checksum(tmp_path: Path) -> None:
    write_idx_files(tmp_path, packed=True)
    with pytest.raises(DataError, match=r"images-idx3-ubyte.gz cannot be used \(its checksum is .*delete it and fetch"):
        load_dataset("mnist", str(tmp_path))


@pytest.mark.usefixtures("no_checksums")
def test_a_cut_archive(tmp_path: Path) -> None:
    write_idx_files(tmp_path, packed=True)
    path = tmp_path / "t10k-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DataError, match=r"t10k-images-idx3-ubyte.gz cannot be used \(it is cut\): delete it and fetch"):
        load_dataset("mnist", str(tmp_path))


@pytest.mark.parametrize(
    ("file", "array", "words"),
    [
        ("train-images-idx3-ubyte", np.zeros((60, 8, 8)), r"an array \[60, 8, 8\] where \[N, 28, 28\] is needed"),
        ("train-images-idx3-ubyte", np.zeros((0, 28, 28)), r"an array \[0, 28, 28\] where"),
        ("train-labels-idx1-ubyte", np.zeros(3), r"labels \[3\] for 60 images"),
        ("t10k-labels-idx1-ubyte", np.full(20, 10), "the label 10, the largest can be 9"),
    ],
)
def test_other_shapes_and_labels(tmp_path: Path, file: str, array: np.ndarray, words: str) -> None:
    write_idx_files(tmp_path)
    (tmp_path / file).write_bytes(idx_bytes(array))
    with pytest.raises(DataError, match=f"{file} holds {words}.*fetch MNIST anew"):
        load_dataset("mnist", str(tmp_path))


@pytest.mark.parametrize("damage", ["missing", "checksum"])
def test_the_command_ends_with_2_and_one_sentence(
    tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if damage == "checksum":
        write_idx_files(tmp_path / "data", packed=True)
    code = main(["simulate", "--dataset", "mnist", "--data-root", str(tmp_path / "data"), "--out", str(tmp_path / "o")])
    error = capsys.readouterr().err
    assert (code, "download=True" in error, "Traceback" in error) == (2, True, False)


def test_a_packed_file_is_not_taken_for_an_unpacked_one(tmp_path: Path) -> None:
    write_idx_files(tmp_path)
    path = tmp_path / "train-labels-idx1-ubyte"
    path.write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(DataError, match="it is no IDX file of bytes"):
        load_dataset("mnist", str(tmp_path))
