"""CIFAR-10 from a packed file."""

import io
import os

import numpy as np
import pytest
from PIL import Image

from pfedgp_core.data import datasets
from pfedgp_core.data.datasets import (
    client_data,
    input_statistics,
    load_dataset,
)
from pfedgp_core.data.packed_jpeg import PackedJpeg
from pfedgp_core.data.partitions.k_class import k_class_partition
from pfedgp_core.errors import DataError
from tests.packed_cifar import CLASSES, write_packed


def test_cifar10_from_a_packed_file(tmp_path):
    path = write_packed(tmp_path / "packed.npz")
    data = load_dataset("cifar10", str(path))
    assert [len(s) for s in data.splits().values()] == [80, 20, 20]
    assert data.class_names == tuple(CLASSES)
    assert data.input_shape == (3, 32, 32)
    assert np.bincount(data.validation.labels).tolist() == [2] * 10
    packed = PackedJpeg(path)
    whole = packed.decode("train", np.arange(100), 32)
    held = np.concatenate([data.train.inputs, data.validation.inputs])
    assert sorted(x.tobytes() for x in whole) == sorted(x.tobytes() for x in held)
    with np.load(path) as raw:
        first = raw["jpeg_test"][: raw["offsets_test"][1]].tobytes()
    pixels = np.asarray(Image.open(io.BytesIO(first)).convert("RGB"))
    assert np.array_equal(data.test.inputs[0], pixels.transpose(2, 0, 1))


def test_packed_images_are_decoded_once(tmp_path, monkeypatch):
    path = write_packed(tmp_path / "packed.npz")
    first = load_dataset("cifar10", str(path))
    assert isinstance(first.train.inputs, np.memmap)
    assert not first.train.inputs.flags.writeable
    datasets._load.cache_clear()
    monkeypatch.setattr(PackedJpeg, "decode", lambda *_: pytest.fail("decoded again"))
    again = load_dataset("cifar10", str(path))
    assert np.array_equal(first.train.inputs, again.train.inputs)
    partition = k_class_partition(again.labels, 10, 5, 2, seed=0)
    assert client_data(again, partition, 0).train.inputs.shape[1:] == (3, 32, 32)


def test_packed_file_with_other_content_is_decoded_again(tmp_path):
    path = write_packed(tmp_path / "packed.npz")
    first = load_dataset("cifar10", str(path))
    datasets._load.cache_clear()
    write_packed(path, per_class=(15, 2))
    assert len(load_dataset("cifar10", str(path)).train) == 120
    assert len(first.train) == 80


def test_cache_that_cannot_be_written(tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    data = load_dataset("cifar10", str(write_packed(tmp_path / "packed.npz")))
    assert len(data.train) == 80
    assert not isinstance(data.train.inputs, np.memmap)
    assert "cannot be written" in caplog.text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"y_train": np.zeros(3, np.uint8)}, "offsets for 3 labels"),
        ({"offsets_test": np.zeros(21, np.uint32)}, "do not fit"),
        ({"jpeg_train": np.zeros(50, np.uint8)}, "do not fit"),
        ({"classes": CLASSES[:4]}, "4 classes"),
        ({"y_test": np.full(20, 11, np.uint8)}, "run from 11"),
    ],
)
def test_damaged_packed_files(tmp_path, changes, words):
    path = write_packed(tmp_path / "packed.npz", **changes)
    with pytest.raises(DataError, match=words):
        load_dataset("cifar10", str(path))


def test_damaged_image_is_named(tmp_path):
    path = write_packed(tmp_path / "packed.npz")
    with np.load(path) as raw:
        data, offsets = raw["jpeg_train"].copy(), raw["offsets_train"]
    data[offsets[5] : offsets[6]] = 0
    write_packed(path, jpeg_train=data)
    with pytest.raises(DataError, match=r"train image 5 in .* cannot be decoded"):
        load_dataset("cifar10", str(path))


def test_images_of_another_size(tmp_path):
    with pytest.raises(DataError, match="is 16x16; give images of 32x32"):
        load_dataset("cifar10", str(write_packed(tmp_path / "packed.npz", size=16)))


def test_no_packed_file(tmp_path):
    with pytest.raises(DataError, match="There is no file"):
        load_dataset("cifar10", str(tmp_path / "none.npz"))
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(DataError, match="not a file of packed JPEG"):
        load_dataset("cifar10", str(tmp_path / "text.npz"))
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with pytest.raises(DataError, match="not a file of packed JPEG"):
        load_dataset("cifar10", str(tmp_path / "other.npz"))
    np.savez(tmp_path / "pickle.npz", y_train=np.array([{}], dtype=object))
    with pytest.raises(DataError, match="not a file of packed JPEG"):
        load_dataset("cifar10", str(tmp_path / "pickle.npz"))


@pytest.mark.slow
@pytest.mark.skipif("PFEDGP_CIFAR10" not in os.environ, reason="PFEDGP_CIFAR10 names no packed CIFAR-10 file")
def test_the_real_cifar10():
    data = load_dataset("cifar10", os.environ["PFEDGP_CIFAR10"])
    assert [len(s) for s in data.splits().values()] == [40_000, 10_000, 10_000]
    assert np.bincount(data.validation.labels).tolist() == [1000] * 10
    mean, std = input_statistics(data.train.inputs[::4])
    np.testing.assert_allclose(mean, data.mean, atol=0.01)
    np.testing.assert_allclose(std, data.std, atol=0.01)
