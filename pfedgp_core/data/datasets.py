"""Data sets of a simulation, and one client's share of them.

``load_dataset`` gives whole data sets as numpy arrays; ``client_data`` cuts out what a partition gives to one client,
as normalised tensors.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from pfedgp_core.data.moments import input_statistics
from pfedgp_core.data.partitions.base import Partition
from pfedgp_core.data.samples import (
    ClientData,
    Dataset,
    Split,
    TensorSplit,
    normalised,
    stratified_split,
)
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.numerics.streams import Stream

__all__ = [
    "DATASETS",
    "ClientData",
    "Dataset",
    "Split",
    "TensorSplit",
    "client_data",
    "input_statistics",
    "load_dataset",
    "normalised",
    "stratified_split",
]

# Splits that we draw ourselves must not move with the run's seed, or results of different seeds could not be compared.
SPLIT_SEED = 0

Loader = Callable[[str, int], Dataset]


def load_dataset(name: str, root: str = "", seed: int = 0) -> Dataset:
    """Load a data set by its name in ``DATASETS``; kept for the life of the process.

    Parameters
    ----------
    name : str
        ``digits`` (scikit-learn's 8x8 handwritten digits, no file needed), ``cifar10``, ``cifar100``, ``cinic10``;
        for ``task = "regression"``: ``diabetes`` (scikit-learn's, no file needed).
    root : str
        Folder of the data set, or for CIFAR a packed .npz file; empty: ``torchvision_sets.default_root()``.
    seed : int
        For data sets that are generated. Those above are the same for every seed, splits included, so that runs
        with different seeds are measured on the same samples.

    Raises
    ------
    ConfigError
        The name is not known.
    DataError
        The files are missing or damaged.
    """
    if name not in DATASETS:
        raise ConfigError(f"dataset = {name!r} is not known; choose one of: {', '.join(DATASETS)}.")
    return _load(DATASETS[name], root, seed)


def client_data(dataset: Dataset, partition: Partition, client_index: int) -> ClientData:
    """Cut out and normalise the samples of one client.

    Raises
    ------
    ConfigError
        There is no such client.
    DataError
        The partition was made for other data.
    """
    if not 0 <= client_index < len(partition.client_names):
        raise ConfigError(
            f"client {client_index} is not in the partition; give a number from 0 to {len(partition.client_names) - 1}."
        )
    tensors = {}
    for name, split in dataset.splits().items():
        if name not in partition.indices:
            raise DataError(f"The partition has no split {name!r}; make it from the labels of {dataset.name}.")
        rows = partition.indices[name][client_index]
        if len(rows) and rows.max() >= len(split):
            raise DataError(
                f"The partition names {name} sample {rows.max()}, but {dataset.name} has {len(split)}; "
                f"make it again from this data set."
            )
        tensors[name] = normalised(Split(split.inputs[rows], split.labels[rows]), dataset.mean, dataset.std)
    return ClientData(
        name=partition.client_names[client_index],
        class_names=dataset.class_names,
        train=tensors["train"],
        validation=tensors["validation"],
        test=tensors["test"],
        mean=tuple(dataset.mean.tolist()),
        std=tuple(dataset.std.tolist()),
    )


def digits(root: str, seed: int) -> Dataset:
    """Load scikit-learn's handwritten digits: 1797 grey images of 8x8 pixels in 10 classes, part of the package.

    60 % of each class is training data, 20 % validation, 20 % test: the same samples for every seed. The grey levels
    0..16 become 0..240, so that 15 counts on the scale 0..255 are one original level. ``root`` and ``seed`` are unused.
    """
    from sklearn.datasets import load_digits

    pixels, targets = load_digits(return_X_y=True)
    images = (pixels.reshape(-1, 1, 8, 8) * 15.0).astype(np.uint8)
    labels = targets.astype(np.int64)
    rows = stratified_split(labels, (0.6, 0.2, 0.2), Stream(SPLIT_SEED, "split", "digits"))
    train, validation, test = (Split(images[r], labels[r]) for r in rows)
    mean, std = input_statistics(train.inputs)
    return Dataset("digits", tuple("0123456789"), train, validation, test, mean, std, (1, 8, 8))


def diabetes(root: str, seed: int) -> Dataset:
    """Load scikit-learn's diabetes data: 442 patients, 10 features, disease progression after a year (25 to 346).

    60 % is training data, 20 % validation, 20 % test: the same samples for every seed. Features are in their original
    units, because scikit-learn's scaled ones have seen the test data. ``root`` and ``seed`` are unused.
    """
    from sklearn.datasets import load_diabetes

    features, targets = load_diabetes(return_X_y=True, scaled=False)
    vectors, values = features.astype(np.float32), targets.astype(np.float64)
    stream = Stream(SPLIT_SEED, "split", "diabetes")
    rows = stratified_split(np.zeros(len(values), np.int64), (0.6, 0.2, 0.2), stream)
    train, validation, test = (Split(vectors[r], values[r]) for r in rows)
    mean, std = input_statistics(train.inputs)
    return Dataset("diabetes", (), train, validation, test, mean, std, (vectors.shape[1],))


def _image_set(name: str) -> Loader:
    # torchvision and the decoders are imported only when such a data set is asked for.
    def load(root: str, seed: int) -> Dataset:
        from pfedgp_core.data import torchvision_sets

        return getattr(torchvision_sets, name)(root)

    return load


DATASETS: dict[str, Loader] = {
    "digits": digits,
    **{name: _image_set(name) for name in ("cifar10", "cifar100", "cinic10")},
    "diabetes": diabetes,
}


@lru_cache(maxsize=2)
def _load(loader: Loader, root: str, seed: int) -> Dataset:
    return loader(root, seed)
