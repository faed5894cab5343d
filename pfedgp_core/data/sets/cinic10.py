"""CINIC-10: 90,000 colour images of 32x32 pixels each for training, validation and test, in 10 classes."""

import hashlib
from functools import partial
from pathlib import Path

import numpy as np

from pfedgp_core.data.array_cache import cached_arrays
from pfedgp_core.data.samples import Dataset, Split
from pfedgp_core.data.sets.root import data_folder
from pfedgp_core.errors import DataError, UnreadableFileError
from pfedgp_core.files.image import read_image
from pfedgp_core.files.regular import decoding

__all__ = ["cinic10"]

MEAN, STD = (0.4789, 0.4723, 0.4305), (0.2421, 0.2383, 0.2587)  # per colour of the training images, on the scale 0..1
_SHAPE = (3, 32, 32)
_FOLDERS = {"train": "train", "validation": "valid", "test": "test"}
_DECODER = "v1"  # part of the cache key; change it with the decoding


def cinic10(root: str = "", seed: int = 0) -> Dataset:
    """Load CINIC-10 with its own validation split; `seed` is unused.

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
    folder = data_folder(root) if root else data_folder("") / "cinic-10"
    first = folder / "train"
    class_names = tuple(sorted(p.name for p in first.iterdir() if p.is_dir())) if first.is_dir() else ()
    if not class_names:
        raise DataError(
            f"CINIC-10 is not in {folder}: unpack CINIC-10.tar.gz (Edinburgh DataShare, doi:10.7488/ds/2448) and set "
            f"data-root to the folder that holds train, valid and test."
        )
    splits = {}
    for split, name in _FOLDERS.items():
        files = [(path, c) for c, kind in enumerate(class_names) for path in _images_in(folder / name / kind)]
        key = f"cinic10-{_DECODER}-{_listing_digest(files)}"
        images = cached_arrays(key, ("images",), partial(_decode_files, files))["images"]
        splits[split] = Split(images, np.array([c for _, c in files], dtype=np.int64))
    mean, std = (np.array(values, dtype=np.float32) for values in (MEAN, STD))
    train, validation, test = splits.values()
    return Dataset("cinic10", class_names, train, validation, test, mean, std, _SHAPE)


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
    images = np.empty((len(files), *_SHAPE), dtype=np.uint8)
    for i, (path, _) in enumerate(files):
        try:
            with decoding(path):
                pixels = np.asarray(read_image(path).convert("RGB"))
        except UnreadableFileError as error:
            raise DataError(
                f"The image {path} cannot be decoded ({error.reason}); unpack the data set again."
            ) from None
        if pixels.shape != (32, 32, 3):
            raise DataError(f"The image {path} is {pixels.shape[1]}x{pixels.shape[0]}; CINIC-10 images are 32x32.")
        images[i] = pixels.transpose(2, 0, 1)
    return {"images": images}
