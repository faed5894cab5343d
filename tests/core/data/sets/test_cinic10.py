"""CINIC-10 from folders of images."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pfedgp_core.data.datasets import (
    load_dataset,
)
from pfedgp_core.errors import DataError


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
