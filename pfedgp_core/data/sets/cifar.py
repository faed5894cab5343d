"""CIFAR from files on disk: torchvision's, or a packed file.

CIFAR has no validation split: 10,000 of its 50,000 training images are held back, equally many of each class (paper,
appendix "Hyperparameter tuning").
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pfedgp_core.data.array_cache import cached_arrays
from pfedgp_core.data.packed_jpeg import PackedJpeg
from pfedgp_core.data.samples import SPLIT_SEED, Dataset, Split, stratified_split
from pfedgp_core.data.sets.root import data_folder
from pfedgp_core.errors import DataError
from pfedgp_core.numerics.streams import Stream

__all__ = ["load_cifar"]


def load_cifar(
    name: str, torchvision_name: str, n_classes: int, root: str, mean: Sequence[float], std: Sequence[float]
) -> Dataset:
    """Load a CIFAR data set.

    Parameters
    ----------
    name, torchvision_name : str
        Ours, and that of torchvision's class.
    n_classes : int
    root : str
        Folder that holds torchvision's folder, or a packed .npz file (see ``packed_jpeg``).
    mean, std : sequence of float
        Per colour of the training images, on the scale 0..1.

    Raises
    ------
    DataError
        No or damaged files.
    """
    path = data_folder(root)
    if path.suffix == ".npz":
        packed = PackedJpeg(path)
        labels, class_names = packed.labels, packed.class_names
    else:
        images, labels, class_names = _from_torchvision(name, torchvision_name, path)
    if len(class_names) != n_classes:
        raise DataError(
            f"{path} has {len(class_names)} classes, {name} has {n_classes}; set data-root to files of {name}."
        )
    train, validation = stratified_split(labels["train"], (0.8, 0.2), Stream(SPLIT_SEED, "split", name))
    rows = {
        "train": ("train", train),
        "validation": ("train", validation),
        "test": ("test", np.arange(len(labels["test"]))),
    }
    if path.suffix == ".npz":
        # Kept on disk as split, so that each split is one memory map and no process holds a copy.
        key = f"{name}-{packed.key(32)}-{hashlib.sha256(validation.tobytes()).hexdigest()[:8]}"
        inputs = cached_arrays(
            key, tuple(rows), lambda: {s: packed.decode(part, r, 32) for s, (part, r) in rows.items()}
        )
    else:
        inputs = {s: images[part][r] for s, (part, r) in rows.items()}
    splits = {s: Split(inputs[s], labels[part][r]) for s, (part, r) in rows.items()}
    centre, width = (np.array(values, dtype=np.float32) for values in (mean, std))
    return Dataset(name, class_names, splits["train"], splits["validation"], splits["test"], centre, width, (3, 32, 32))


def _from_torchvision(
    name: str, torchvision_name: str, path: Path
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], tuple[str, ...]]:
    try:
        from torchvision import datasets
    except (ImportError, RuntimeError) as error:
        raise DataError(
            f"{name} needs torchvision, which cannot be imported ({error}); run pip install torchvision."
        ) from None
    images, labels = {}, {}
    parts: dict[str, Any] = {}
    for split in ("train", "test"):
        try:
            parts[split] = getattr(datasets, torchvision_name)(root=str(path), train=split == "train", download=False)
        except (RuntimeError, OSError, EOFError, KeyError, ValueError):
            raise DataError(
                f"{torchvision_name} is missing or damaged in {path}: set data-root to the folder that "
                f'holds its files, or fetch them there with python -c "from torchvision.datasets import '
                f"{torchvision_name}; {torchvision_name}('{path}', download=True)\"."
            ) from None
        images[split] = np.ascontiguousarray(parts[split].data.transpose(0, 3, 1, 2))
        labels[split] = np.array(parts[split].targets, dtype=np.int64)
    return images, labels, tuple(parts["train"].classes)
