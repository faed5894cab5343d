"""MNIST and those like it, from IDX files on disk: torchvision's folder, or the files alone.

They have no validation split: a sixth of the training images is held back, equally many of each class.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from pfedgp_core.data.moments import input_statistics
from pfedgp_core.data.samples import SPLIT_SEED, Dataset, Split, stratified_split
from pfedgp_core.data.sets.root import data_folder
from pfedgp_core.errors import DataError, UnreadableFileError
from pfedgp_core.files.idx import read_idx
from pfedgp_core.numerics.streams import Stream

__all__ = ["load_idx_images"]

_PARTS = {"train": "train", "test": "t10k"}
_KINDS = ("images-idx3-ubyte", "labels-idx1-ubyte")
_SHAPE = (28, 28)


def load_idx_images(
    name: str, torchvision_name: str, class_names: Sequence[str], root: str, checksums: Mapping[str, str]
) -> Dataset:
    """Load the four files of a data set.

    Parameters
    ----------
    name, torchvision_name : str
        Ours, and that of torchvision's class and folder.
    class_names : sequence of str
    root : str
        Folder that holds ``NAME/raw`` as torchvision makes it, or the files; each packed (``.gz``) or not.
    checksums : mapping of str to str
        MD5 of the published packed files, by name.

    Raises
    ------
    DataError
        A file is missing or damaged, has another checksum, or holds other shapes or labels.
    """
    folder = data_folder(root)
    fetch = (
        f'fetch {torchvision_name} anew with python -c "from torchvision.datasets import {torchvision_name}; '
        f"{torchvision_name}('{folder}', download=True)\""
    )
    images, labels = {}, {}
    for part, prefix in _PARTS.items():
        of_images, of_labels = (_found(folder, torchvision_name, f"{prefix}-{kind}", fetch) for kind in _KINDS)
        pixels, classes = (_read(path, checksums.get(path.name, ""), fetch) for path in (of_images, of_labels))
        _check(pixels, classes, of_images, of_labels, len(class_names), fetch)
        images[part], labels[part] = pixels[:, None], classes.astype(np.int64)
    rows = stratified_split(labels["train"], (5, 1), Stream(SPLIT_SEED, "split", name))
    train, validation = (Split(images["train"][r], labels["train"][r]) for r in rows)
    mean, std = input_statistics(train.inputs)
    test = Split(images["test"], labels["test"])
    return Dataset(name, tuple(class_names), train, validation, test, mean, std, (1, *_SHAPE))


def _found(folder: Path, torchvision_name: str, file: str, fetch: str) -> Path:
    places = (folder / torchvision_name / "raw", folder / "raw", folder)
    for path in (place / f"{file}{suffix}" for place in places for suffix in ("", ".gz")):
        if path.exists():
            return path
    raise DataError(
        f"{torchvision_name} is not in {folder}, which lacks {torchvision_name}/raw/{file} or {file}.gz: set data-root "
        f"to the folder that holds the four files, or {fetch}."
    )


def _read(path: Path, md5: str, fetch: str) -> np.ndarray:
    try:
        return read_idx(path, md5)
    except UnreadableFileError as error:
        raise DataError(f"{path} cannot be used ({error.reason}): delete it and {fetch}.") from None


def _check(images: np.ndarray, labels: np.ndarray, of_images: Path, of_labels: Path, classes: int, fetch: str) -> None:
    """Raise DataError where the two arrays are not images of the size and their labels."""
    if images.shape[1:] != _SHAPE or not len(images):
        raise DataError(f"{of_images} holds an array {list(images.shape)} where [N, 28, 28] is needed: {fetch}.")
    if labels.shape != images.shape[:1]:
        raise DataError(f"{of_labels} holds labels {list(labels.shape)} for {len(images)} images: {fetch}.")
    if labels.max() >= classes:
        raise DataError(f"{of_labels} holds the label {labels.max()}, the largest can be {classes - 1}: {fetch}.")
