"""Data sets: fixed splits, normalisation, one client's share, packed files, image folders, the cache."""

import io
import os
import pickle
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from pfedgp_core.data import array_cache, datasets, torchvision_sets
from pfedgp_core.data.array_cache import cached_arrays
from pfedgp_core.data.datasets import (
    DATASETS,
    Dataset,
    Split,
    client_data,
    input_statistics,
    load_dataset,
    normalised,
    stratified_split,
)
from pfedgp_core.data.packed_jpeg import PackedJpeg
from pfedgp_core.data.partitions.k_class import k_class_partition
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.numerics.streams import Stream

CLASSES = np.array([f"kind{i}" for i in range(10)])


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    datasets._load.cache_clear()
    yield
    datasets._load.cache_clear()


def jpeg(rng: np.random.Generator, size: int = 32) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(rng.integers(0, 256, (size, size, 3), dtype=np.uint8)).save(buffer, "JPEG")
    return buffer.getvalue()


def write_packed(path: Path, per_class: tuple[int, int] = (10, 2), size: int = 32, **changes: np.ndarray) -> Path:
    rng = np.random.default_rng(0)
    arrays = {"classes": CLASSES}
    for part, n in zip(("train", "test"), per_class, strict=True):
        files = [jpeg(rng, size) for _ in range(10 * n)]
        arrays[f"jpeg_{part}"] = np.frombuffer(b"".join(files), dtype=np.uint8)
        arrays[f"offsets_{part}"] = np.cumsum([0] + [len(f) for f in files]).astype(np.uint32)
        arrays[f"y_{part}"] = np.repeat(np.arange(10), n).astype(np.uint8)
    np.savez(path, **(arrays | changes))
    return path


# digits


def test_digits():
    data = load_dataset("digits")
    assert data.input_shape == (1, 8, 8) and data.class_names == tuple("0123456789")
    assert [len(s) for s in data.splits().values()] == [1078, 362, 357]
    assert sum(len(s) for s in data.splits().values()) == 1797
    assert data.train.inputs.dtype == np.uint8 and data.train.inputs.max() == 240
    for c in range(10):
        counts = np.array([(labels == c).sum() for labels in data.labels.values()])
        np.testing.assert_allclose(counts, np.array([0.6, 0.2, 0.2]) * counts.sum(), atol=1)


def test_digits_splits_hold_each_image_once():
    from sklearn.datasets import load_digits

    stacked = np.concatenate([s.inputs for s in load_dataset("digits").splits().values()])
    ours = np.sort([row.tobytes() for row in stacked.reshape(1797, 64)])
    theirs = np.sort([row.tobytes() for row in (load_digits().data * 15).astype(np.uint8)])
    assert (ours == theirs).all()


def test_digits_are_the_same_for_every_seed():
    first, other = load_dataset("digits", seed=0), load_dataset("digits", seed=1)
    for a, b in zip(first.splits().values(), other.splits().values(), strict=True):
        assert np.array_equal(a.inputs, b.inputs) and np.array_equal(a.labels, b.labels)


def test_unknown_dataset():
    with pytest.raises(
        ConfigError, match="'minst' is not known; choose one of: digits, cifar10, cifar100, cinic10, diabetes"
    ):
        load_dataset("minst")


def test_diabetes_is_a_regression():
    from sklearn.datasets import load_diabetes

    data = load_dataset("diabetes")
    assert data.task == "regression" and data.class_names == () and data.input_shape == (10,)
    assert [len(s) for s in data.splits().values()] == [265, 89, 88]
    targets = np.concatenate([s.labels for s in data.splits().values()])
    assert targets.dtype == np.float64 and np.array_equal(np.sort(targets), np.sort(load_diabetes().target))
    assert np.array_equal(data.labels["test"], np.zeros(88, np.int64))
    assert load_dataset("digits").task == "classification"


def test_splits_hold_class_ids_or_targets():
    x = np.zeros((3, 2), np.float32)
    for labels in (np.array([0.0, np.nan, 1.0]), np.zeros(3, np.float32), np.zeros((3, 1))):
        with pytest.raises(DataError):
            Split(x, labels)
    targets, ids = Split(x, np.array([0.5, 2.0, -1.0])), Split(x, np.array([0, 1, 0]))
    ones = np.ones(2, np.float32)
    with pytest.raises(DataError, match="float64 targets without"):
        Dataset("mixed", ("a", "b"), targets, targets, targets, ones, ones, (2,))
    with pytest.raises(DataError, match="float64 targets without"):
        Dataset("mixed", (), targets, ids, targets, ones, ones, (2,))


# one client


def test_client_data():
    data = load_dataset("digits")
    partition = k_class_partition(data.labels, 10, 20, 2, seed=0)
    clients = [client_data(data, partition, i) for i in range(20)]
    assert sum(len(c.train) for c in clients) == 1078
    client = clients[7]
    assert client.name == "client-07" and client.class_names == data.class_names
    assert client.train.inputs.dtype == torch.float32 and client.train.labels.dtype == torch.int64
    assert set(client.train.labels.tolist()) == set(partition.classes[7])
    rows = partition.indices["train"][7]
    wanted = (data.train.inputs[rows] / 255.0 - data.mean[0]) / data.std[0]
    np.testing.assert_allclose(client.train.inputs.numpy(), wanted, atol=1e-5)
    everything = torch.cat([c.train.inputs for c in clients])
    assert abs(everything.mean()) < 1e-4 and abs(everything.std() - 1) < 1e-3


def test_client_with_empty_test_split():
    data = load_dataset("digits")
    few = Dataset(
        data.name, data.class_names, data.train, data.validation, Split(data.test.inputs[:0], data.test.labels[:0]),
        data.mean, data.std, data.input_shape,
    )  # fmt: skip
    client = client_data(few, k_class_partition(few.labels, 10, 20, 2, seed=0), 0)
    assert client.test.inputs.shape == (0, 1, 8, 8) and len(client.test) == 0


@pytest.mark.parametrize("index", [-1, 20])
def test_unknown_client(index):
    data = load_dataset("digits")
    with pytest.raises(ConfigError, match=f"client {index}"):
        client_data(data, k_class_partition(data.labels, 10, 20, 2, seed=0), index)


def test_partition_of_other_data():
    data = load_dataset("digits")
    larger = {name: np.tile(each, 3) for name, each in data.labels.items()}
    with pytest.raises(DataError, match="make it again"):
        client_data(data, k_class_partition(larger, 10, 20, 2, seed=0), 0)
    train_only = k_class_partition({"train": data.train.labels}, 10, 20, 2, seed=0)
    with pytest.raises(DataError, match="no split 'validation'"):
        client_data(data, train_only, 0)


# samples


def test_vectors_with_a_constant_and_a_wild_column():
    rng = np.random.default_rng(0)
    x = np.stack([rng.normal(5, 1e3, 200), np.full(200, 3.3), rng.normal(0, 1e-3, 200)], axis=1).astype(np.float32)
    split = Split(x, np.zeros(200, dtype=np.int64))
    out = normalised(split, *input_statistics(x)).inputs.numpy()
    np.testing.assert_allclose(out.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(out.std(axis=0), [1, 0, 1], atol=1e-4)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_non_finite_vectors_are_refused(value):
    x = np.zeros((4, 3), dtype=np.float32)
    x[2, 1] = value
    with pytest.raises(DataError, match=r"1 of 4 samples .* row 2"):
        Split(x, np.zeros(4, dtype=np.int64))


def test_values_beyond_float32_after_normalising_are_refused():
    split = Split(np.full((1, 1), 3e38, dtype=np.float32), np.zeros(1, dtype=np.int64))
    with pytest.raises(DataError, match="rescale"):
        normalised(split, np.array([0.0]), np.array([1e-3]))


@pytest.mark.parametrize(
    ("inputs", "labels"),
    [
        (np.zeros((2, 3)), np.zeros(2, np.int64)),
        (np.zeros((2, 3), np.uint8), np.zeros(2, np.int64)),
        (np.zeros((2, 3), np.float32), np.zeros(2, np.int32)),
        (np.zeros((2, 3), np.float32), np.zeros(3, np.int64)),
    ],
)
def test_other_forms_are_refused(inputs, labels):
    with pytest.raises(DataError):
        Split(inputs, labels)


def test_dataset_checks_its_parts():
    split = Split(np.zeros((2, 3), np.float32), np.array([0, 1]))
    one, two = np.ones(3, np.float32), ("a", "b")
    Dataset("x", two, split, split, split, one, one, (3,))
    for classes, mean, std, shape in [
        (("a",), one, one, (3,)),
        (two, one[:2], one, (3,)),
        (two, one * np.nan, one, (3,)),
        (two, one, one * 0, (3,)),
        (two, one, one, (4,)),
    ]:
        with pytest.raises(DataError):
            Dataset("x", classes, split, split, split, mean, std, shape)


def test_stratified_split():
    labels = np.array([0] * 50 + [1] * 7 + [2])
    parts = stratified_split(labels, (0.8, 0.2), Stream(0, "test"))
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(58))
    assert np.bincount(labels[parts[0]]).tolist() == [40, 6, 1]


# packed files


def test_cifar10_from_a_packed_file(tmp_path):
    path = write_packed(tmp_path / "packed.npz")
    data = load_dataset("cifar10", str(path))
    assert [len(s) for s in data.splits().values()] == [80, 20, 20]
    assert data.class_names == tuple(CLASSES) and data.input_shape == (3, 32, 32)
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
    assert isinstance(first.train.inputs, np.memmap) and not first.train.inputs.flags.writeable
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
    assert len(load_dataset("cifar10", str(path)).train) == 120 and len(first.train) == 80


def test_cache_that_cannot_be_written(tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    data = load_dataset("cifar10", str(write_packed(tmp_path / "packed.npz")))
    assert len(data.train) == 80 and not isinstance(data.train.inputs, np.memmap)
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


# torchvision's files


def write_cifar(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write small files in CIFAR-10's own format, and switch off the checksums of the real ones."""
    from torchvision.datasets import CIFAR10

    folder = root / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name in [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]:
        batch = {"data": rng.integers(0, 256, (20, 3072), dtype=np.uint8), "labels": list(range(10)) * 2}
        (folder / name).write_bytes(pickle.dumps(batch))
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": CLASSES.tolist()}))
    monkeypatch.setattr(CIFAR10, "_check_integrity", lambda self: True)
    monkeypatch.setattr("torchvision.datasets.cifar.check_integrity", lambda *_: True)


def test_cifar10_from_a_folder(tmp_path, monkeypatch):
    write_cifar(tmp_path, monkeypatch)
    data = load_dataset("cifar10", str(tmp_path))
    assert [len(s) for s in data.splits().values()] == [80, 20, 20]
    raw = pickle.loads((tmp_path / "cifar-10-batches-py" / "test_batch").read_bytes())["data"]
    assert np.array_equal(data.test.inputs, raw.reshape(20, 3, 32, 32))
    assert data.class_names == tuple(CLASSES)


@pytest.mark.parametrize("name", ["cifar10", "cifar100", "cinic10"])
def test_missing_files_say_how_to_get_them(tmp_path, name, monkeypatch):
    with pytest.raises(DataError, match="set data-root to"):
        load_dataset(name, str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with pytest.raises(DataError, match="set data-root to"):
        load_dataset(name)


def test_torchvision_is_imported_only_when_needed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torchvision", None)
    load_dataset("digits")
    load_dataset("cifar10", str(write_packed(tmp_path / "packed.npz")))
    with pytest.raises(DataError, match="torchvision"):
        load_dataset("cifar10", str(tmp_path))


# CINIC-10


def write_cinic(root: Path, kinds: tuple[str, ...] = ("cat", "airplane"), n: int = 3) -> None:
    rng = np.random.default_rng(0)
    for split in ("train", "valid", "test"):
        for kind in kinds:
            (root / split / kind).mkdir(parents=True)
            for i in range(n):
                mode = rng.integers(0, 256, (32, 32) if i == 0 else (32, 32, 3), dtype=np.uint8)
                Image.fromarray(mode).save(root / split / kind / f"{i}.png")


def test_cinic10(tmp_path):
    write_cinic(tmp_path / "cinic")
    data = load_dataset("cinic10", str(tmp_path / "cinic"))
    assert data.class_names == ("airplane", "cat")
    assert [len(s) for s in data.splits().values()] == [6, 6, 6]
    assert data.validation.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert isinstance(data.train.inputs, np.memmap)
    pixels = np.asarray(Image.open(tmp_path / "cinic" / "valid" / "cat" / "2.png"))
    assert np.array_equal(data.validation.inputs[5], pixels.transpose(2, 0, 1))


def test_damaged_cinic10(tmp_path):
    write_cinic(tmp_path / "cinic")
    (tmp_path / "cinic" / "test" / "cat" / "1.png").write_bytes(b"no image")
    with pytest.raises(DataError, match=r"1\.png cannot be decoded"):
        load_dataset("cinic10", str(tmp_path / "cinic"))
    Image.new("RGB", (8, 8)).save(tmp_path / "cinic" / "test" / "cat" / "1.png")
    with pytest.raises(DataError, match="is 8x8"):
        load_dataset("cinic10", str(tmp_path / "cinic"))
    for path in (tmp_path / "cinic" / "test" / "cat").iterdir():
        path.unlink()
    with pytest.raises(DataError, match="no images in"):
        load_dataset("cinic10", str(tmp_path / "cinic"))


# the cache


def test_cache_repairs_a_damaged_entry(tmp_path, caplog):
    def build() -> dict[str, np.ndarray]:
        return {"a": np.arange(1000), "b": np.ones(3)}

    cached_arrays("k", ("a", "b"), build, tmp_path)
    (tmp_path / "k" / "a.npy").write_bytes((tmp_path / "k" / "a.npy").read_bytes()[:200])
    again = cached_arrays("k", ("a", "b"), build, tmp_path)
    assert np.array_equal(again["a"], np.arange(1000)) and "cannot be read" in caplog.text
    assert isinstance(cached_arrays("k", ("a", "b"), lambda: pytest.fail("built again"), tmp_path)["a"], np.memmap)
    assert [p.name for p in tmp_path.iterdir()] == ["k"], "drafts are left behind"


def test_cache_with_many_writers(tmp_path):
    together = threading.Barrier(6)
    results = []

    def build() -> dict[str, np.ndarray]:
        together.wait(30)
        return {"a": np.arange(50_000)}

    def work() -> None:
        results.append(cached_arrays("k", ("a",), build, tmp_path)["a"])

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 6 and all(np.array_equal(r, np.arange(50_000)) for r in results)
    assert [p.name for p in tmp_path.iterdir()] == ["k"]


def test_cache_folder(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert array_cache.cache_folder() == Path("/somewhere/pfedgp")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert array_cache.cache_folder() == Path.home() / ".cache" / "pfedgp"


def test_every_registered_set_has_a_loader():
    assert set(DATASETS) == {"digits", "cifar10", "cifar100", "cinic10", "diabetes"}
    assert set(torchvision_sets._STATISTICS) == set(DATASETS) - {"digits", "diabetes"}
