"""CIFAR-10, CIFAR-100 and CINIC-10 from files on disk; nothing is ever downloaded.

CIFAR has no validation split: 10,000 of its 50,000 training images are held back, equally many of each class (paper,
appendix "Hyperparameter tuning"). CINIC-10 keeps its own validation split of 90,000 images.
"""

import hashlib
import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pfedgp_core.data.array_cache import cached_arrays
from pfedgp_core.data.packed_jpeg import PackedJpeg
from pfedgp_core.data.samples import Dataset, Split, stratified_split
from pfedgp_core.errors import DataError
from pfedgp_core.numerics.streams import Stream

__all__ = ["cifar10", "cifar100", "cinic10", "default_root"]

# Mean and standard deviation per colour of the training images, on the scale 0..1.
_STATISTICS = {
    "cifar10": ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
    "cifar100": ((0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)),
    "cinic10": ((0.4789, 0.4723, 0.4305), (0.2421, 0.2383, 0.2587)),
}
_SHAPE = (3, 32, 32)
_SPLIT_SEED = 0  # fixed, so that every run is measured on the same validation images
_CINIC_FOLDERS = {"train": "train", "validation": "valid", "test": "test"}
_CINIC_DECODER = "v1"  # part of the cache key; change it with the decoding


def default_root() -> Path:
    """Return where data sets lie if no root is given: ``$XDG_DATA_HOME/pfedgp``, or ``~/.local/share/pfedgp``."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path(os.path.expanduser("~")) / ".local" / "share") / "pfedgp"


def cifar10(root: str = "") -> Dataset:
    """Load CIFAR-10: 40,000 / 10,000 / 10,000 images in 10 classes.

    Parameters
    ----------
    root : str
        Folder that holds ``cifar-10-batches-py``, or a packed .npz file (see ``packed_jpeg``).

    Raises
    ------
    DataError
        No or damaged files.
    """
    return _cifar("cifar10", "CIFAR10", 10, root)


def cifar100(root: str = "") -> Dataset:
    """Load CIFAR-100: 40,000 / 10,000 / 10,000 images in 100 classes, like ``cifar10``."""
    return _cifar("cifar100", "CIFAR100", 100, root)


def cinic10(root: str = "") -> Dataset:
    """Load CINIC-10: 90,000 images each for training, validation and test, in 10 classes.

    Parameters
    ----------
    root : str
        Folder with ``train``, ``valid`` and ``test``, each with one folder of 32x32 images per class. The classes are
        the folders of ``train`` in alphabetical order.

    Raises
    ------
    DataError
        A folder is missing or empty, or an image is damaged.
    """
    folder = Path(root).expanduser() if root else default_root() / "cinic-10"
    train = folder / "train"
    class_names = tuple(sorted(p.name for p in train.iterdir() if p.is_dir())) if train.is_dir() else ()
    if not class_names:
        raise DataError(
            f"CINIC-10 is not in {folder}: unpack CINIC-10.tar.gz (Edinburgh DataShare, doi:10.7488/ds/2448) and set "
            f"data-root to the folder that holds train, valid and test."
        )
    splits = {}
    for split, name in _CINIC_FOLDERS.items():
        files = [(path, c) for c, kind in enumerate(class_names) for path in _images_in(folder / name / kind)]
        key = f"cinic10-{_CINIC_DECODER}-{_listing_digest(files)}"
        images = cached_arrays(key, ("images",), partial(_decode_files, files))["images"]
        splits[split] = Split(images, np.array([c for _, c in files], dtype=np.int64))
    return _dataset("cinic10", class_names, splits)


def _cifar(name: str, torchvision_name: str, n_classes: int, root: str) -> Dataset:
    path = Path(root).expanduser() if root else default_root()
    if path.suffix == ".npz":
        packed = PackedJpeg(path)
        labels, class_names = packed.labels, packed.class_names
    else:
        images, labels, class_names = _from_torchvision(name, torchvision_name, path)
    if len(class_names) != n_classes:
        raise DataError(
            f"{path} has {len(class_names)} classes, {name} has {n_classes}; set data-root to files of {name}."
        )
    train, validation = stratified_split(labels["train"], (0.8, 0.2), Stream(_SPLIT_SEED, "split", name))
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
    return _dataset(name, class_names, {s: Split(inputs[s], labels[part][r]) for s, (part, r) in rows.items()})


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


def _dataset(name: str, class_names: tuple[str, ...], splits: dict[str, Split]) -> Dataset:
    mean, std = (np.array(values, dtype=np.float32) for values in _STATISTICS[name])
    return Dataset(name, class_names, mean=mean, std=std, input_shape=_SHAPE, **splits)


def _images_in(folder: Path) -> list[Path]:
    files = folder.iterdir() if folder.is_dir() else ()
    found = sorted(p for p in files if p.suffix.lower() in (".png", ".jpg", ".jpeg"))
    if not found:
        raise DataError(f"There are no images in {folder}; unpack the data set again.")
    return found


def _listing_digest(files: list[tuple[Path, int]]) -> str:
    """Hash names, sizes and times of change; hashing the content of 270,000 files would cost as much as decoding."""
    digest = hashlib.sha256()
    for path, c in files:
        status = path.stat()
        digest.update(f"{c}/{path.parent.name}/{path.name}/{status.st_size}/{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:32]


def _decode_files(files: list[tuple[Path, int]]) -> dict[str, np.ndarray]:
    """Return the one array ``images``, uint8 [N, 3, 32, 32]."""
    from PIL import Image

    images = np.empty((len(files), *_SHAPE), dtype=np.uint8)
    for i, (path, _) in enumerate(files):
        try:
            with Image.open(path) as image:
                pixels = np.asarray(image.convert("RGB"))
        except (OSError, ValueError, SyntaxError) as error:
            raise DataError(f"The image {path} cannot be decoded ({error}); unpack the data set again.") from None
        if pixels.shape != (32, 32, 3):
            raise DataError(f"The image {path} is {pixels.shape[1]}x{pixels.shape[0]}; CINIC-10 images are 32x32.")
        images[i] = pixels.transpose(2, 0, 1)
    return {"images": images}
