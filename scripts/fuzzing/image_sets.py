"""Trials of the files of image data sets: IDX arrays, LEAF's JSON, MedMNIST's archives."""

import gzip
import io
import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np

from scripts.fuzzing.mutations import changed_bytes, changed_json, changed_npz
from scripts.fuzzing.trial import Trial

__all__ = ["IMAGE_SETS"]


def _idx(folder: Path) -> Trial:
    """Packed or not, as the first bytes of an input say."""
    from pfedgp_core.files.idx import read_idx

    def read(content: bytes) -> object:
        path = folder / ("a.gz" if content.startswith(b"\x1f\x8b") else "a")
        path.write_bytes(content)
        return read_idx(path).sum()

    whole = struct.pack(">HBB3I", 0, 8, 3, 2, 3, 4) + bytes(range(24))
    return Trial([whole, gzip.compress(whole, mtime=0)], (changed_bytes,), read)


def _leaf(folder: Path) -> Trial:
    from pfedgp_core.files.json_members import members

    def read(content: bytes) -> object:
        (folder / "a.json").write_bytes(content)
        return list(members(folder / "a.json", ("user_data",)))

    users = {"w": {"x": [[0.5, 1.0]], "y": [3]}, "v": {"x": [], "y": []}}
    whole = json.dumps({"users": list(users), "num_samples": [1, 0], "user_data": users}).encode()
    return Trial([whole], (changed_json, changed_bytes), read)


def _medmnist(folder: Path) -> Trial:
    from pfedgp_core.data.sets.medmnist import medmnist

    def read(content: bytes) -> object:
        (folder / "a.npz").write_bytes(content)
        return medmnist(str(folder / "a.npz")).labels

    arrays = {}
    for part in ("train", "val", "test"):
        arrays[f"{part}_images"] = np.arange(4 * 64, dtype=np.uint8).reshape(4, 8, 8)
        arrays[f"{part}_labels"] = np.array([[0], [1], [1], [0]], np.uint8)
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return Trial([file.getvalue()], (changed_npz, changed_bytes), read)


IMAGE_SETS: dict[str, Callable[[Path], Trial]] = {"idx": _idx, "leaf": _leaf, "medmnist": _medmnist}
