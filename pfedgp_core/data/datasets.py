"""Data sets of a simulation, and one client's share of them.

``load_dataset`` gives whole data sets as numpy arrays; ``client_splits`` cuts out what a partition gives to one client,
through the client's noise model where it has one, and ``client_data`` makes normalised tensors of that.
"""

from collections.abc import Callable
from functools import lru_cache

from pfedgp_core.config import Settings
from pfedgp_core.data.moments import input_statistics
from pfedgp_core.data.noisy_split import noisy_splits
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
from pfedgp_core.registry import DATASETS, TASKS, entry

__all__ = [
    "ClientData",
    "Dataset",
    "Split",
    "TensorSplit",
    "client_data",
    "client_splits",
    "dataset_of",
    "input_statistics",
    "load_dataset",
    "normalised",
    "stratified_split",
]

Loader = Callable[[str, int], Dataset]


def load_dataset(name: str, root: str = "", seed: int = 0) -> Dataset:
    """Load a data set by its name in the registry; kept for the life of the process.

    Parameters
    ----------
    name : str
    root : str
        Folder of the data set, or for CIFAR a packed .npz file; empty: see `pfedgp_core.data.sets.root.data_folder`.
    seed : int
        For data sets that are generated. Those on disk are the same for every seed, splits included, so that runs with
        different seeds are measured on the same samples.

    Raises
    ------
    ConfigError
        The name is not known.
    DataError
        The files are missing or damaged, or the data are not for the task that the registry says.
    """
    known = entry(DATASETS, "dataset", name)
    if known.own:
        raise ConfigError(f"The data set {name!r} is described by settings: give its path itself, or --dataset PATH.")
    dataset = _load(known.load(), root, seed)
    if bool(dataset.class_names) != TASKS[known.task].classes:
        raise DataError(
            f"The data set {name!r} has {len(dataset.class_names)} class names and is registered for {known.task}: "
            "correct its task in pfedgp_core/registry.py."
        )
    return dataset


def dataset_of(settings: Settings) -> Dataset:
    """The data set that settings describe. Raises as `load_dataset`, and where a user's own data cannot be used."""
    known = entry(DATASETS, "dataset", settings.dataset)
    if not known.own:
        return load_dataset(settings.dataset, settings.data_root, settings.seed)
    dataset: Dataset = known.load()(settings)
    return dataset


def client_splits(dataset: Dataset, partition: Partition, client_index: int) -> dict[str, Split]:
    """Cut out the samples of one client, by split: as the data set has them, or through the client's noise model.

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
    splits, own = {}, {}
    for name, split in dataset.splits().items():
        if name not in partition.indices:
            raise DataError(f"The partition has no split {name!r}; make it from the labels of {dataset.name}.")
        rows = own[name] = partition.indices[name][client_index]
        if len(rows) and rows.max() >= len(split):
            raise DataError(
                f"The partition names {name} sample {rows.max()}, but {dataset.name} has {len(split)}; "
                f"make it again from this data set."
            )
        splits[name] = Split(split.inputs[rows], split.labels[rows])
    return noisy_splits(splits, own, partition.noise, client_index) if partition.noise else splits


def client_data(dataset: Dataset, partition: Partition, client_index: int) -> ClientData:
    """Normalise the samples of one client by the statistics of the data without noise. Raises as `client_splits`."""
    splits = client_splits(dataset, partition, client_index)
    tensors = {name: normalised(split, dataset.mean, dataset.std) for name, split in splits.items()}
    return ClientData(
        name=partition.client_names[client_index],
        class_names=dataset.class_names,
        train=tensors["train"],
        validation=tensors["validation"],
        test=tensors["test"],
        mean=tuple(dataset.mean.tolist()),
        std=tuple(dataset.std.tolist()),
    )


@lru_cache(maxsize=2)
def _load(loader: Loader, root: str, seed: int) -> Dataset:
    return loader(root, seed)
