"""CIFAR in torchvision's own files, and what is said where files are missing."""

import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from pfedgp_core.data.datasets import (
    load_dataset,
)
from pfedgp_core.errors import DataError
from tests.packed_cifar import CLASSES, write_packed


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
