"""Small files in the layouts of MNIST, LEAF's FEMNIST and MedMNIST."""

import gzip
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["idx_bytes", "leaf_user", "write_femnist", "write_idx_files", "write_leaf", "write_medmnist"]


def idx_bytes(array: np.ndarray) -> bytes:
    """The content of an IDX file."""
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


def write_idx_files(folder: Path, packed: bool = False, per_class: tuple[int, int] = (6, 2), seed: int = 0) -> None:
    """Images of ten classes: so many of each for training and for test."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    for part, n in zip(("train", "t10k"), per_class, strict=True):
        labels = rng.permutation(np.repeat(np.arange(10), n))
        images = rng.integers(0, 256, (len(labels), 28, 28))
        for name, array in ((f"{part}-images-idx3-ubyte", images), (f"{part}-labels-idx1-ubyte", labels)):
            content = idx_bytes(array)
            path = folder / (f"{name}.gz" if packed else name)
            path.write_bytes(gzip.compress(content) if packed else content)


def leaf_user(labels: list[int], seed: int = 0) -> dict[str, Any]:
    """The data of one writer, with pixels 0..255 divided by 255 as LEAF has them."""
    pixels = np.random.default_rng(seed).integers(0, 256, (len(labels), 784)) / 255
    return {"x": pixels.tolist(), "y": labels}


def write_leaf(path: Path, data: dict[str, dict[str, Any]], **changes: Any) -> Path:
    """A file of LEAF; `changes` replace its members."""
    content = {
        "users": list(data),
        "num_samples": [len(each.get("y", [])) for each in data.values()],
        "user_data": data,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content | changes))
    return path


def write_femnist(root: Path) -> None:
    """Four writers in two files; the last has three samples in all."""
    sizes = {"f0000_14": 12, "f0001_41": 9, "f0002_00": 8, "f0003_08": 2}
    for part, share in (("train", 1), ("test", 4)):
        for number in range(2):
            users = {
                name: leaf_user([i % 62 for i in range(max(1, n // share))], seed=100 * share + k)
                for k, (name, n) in enumerate(sizes.items())
                if k % 2 == number
            }
            write_leaf(root / "data" / part / f"all_data_{number}.json", users)


def write_medmnist(path: Path, shape: tuple[int, ...] = (28, 28), **changes: np.ndarray) -> Path:
    """Images of three classes in three parts; `changes` replace arrays."""
    rng = np.random.default_rng(0)
    arrays = {}
    for part, n in (("train", 12), ("val", 6), ("test", 6)):
        arrays[f"{part}_images"] = rng.integers(0, 256, (n, *shape)).astype(np.uint8)
        arrays[f"{part}_labels"] = (np.arange(n) % 3).astype(np.uint8)[:, None]
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **(arrays | changes))
    return path
