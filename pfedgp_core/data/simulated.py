"""The simulated federation that settings describe: a data set and its partition, loaded at most once per process."""

from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.data.corruptions.noise_models import assigned
from pfedgp_core.data.datasets import ClientData, Dataset, client_data, dataset_of, input_statistics
from pfedgp_core.data.partitions.base import Partition, Partitioner
from pfedgp_core.data.partitions.part_of_data import partition_data
from pfedgp_core.errors import ConfigError
from pfedgp_core.registry import DATASETS, PARTITIONS, entry
from pfedgp_core.words import shape_text

__all__ = ["ClientSummary", "left_out_sites", "simulated_client", "simulated_partition", "simulated_summary"]

# A worker of the simulation engine serves many clients in turn; this many keep their tensors.
CACHED_CLIENTS = 16


@lru_cache(maxsize=1)
def simulated_partition(settings: Settings) -> Partition:
    """Return how the data set is split over the clients; decided by the settings alone.

    Raises
    ------
    ConfigError
        The data set is for another task, or cannot be split as the settings say.
    DataError
        The data set cannot be loaded, or has too few samples.
    """
    _check_task(settings)
    dataset = dataset_of(settings)
    split = _partitioner(dataset, settings)
    if dataset.class_names:
        partition = partition_data(split, dataset.labels, len(dataset.class_names), settings)
    else:  # without classes there is one kind of sample, in which every client shares
        partition = partition_data(split, dataset.labels, 1, settings.replace(classes_per_client=1))
    return _with_noise(partition, dataset, settings)


@dataclass(frozen=True)
class ClientSummary:
    """What a simulated client presents itself with.

    Attributes
    ----------
    name : str
    classes : tuple of int
        Class ids of its training data, ascending; empty in regression.
    class_names : tuple of str
        Of the federation.
    samples : dict of str to int
        By split.
    input_shape : tuple of int
    mean, std : tuple of float
        That normalise its inputs.
    value_range : str
        Of a user's own images.
    columns : tuple of str
        Of a user's own table.
    rules : str
        On which its sites have agreed.
    """

    name: str
    classes: tuple[int, ...]
    class_names: tuple[str, ...]
    samples: dict[str, int]
    input_shape: tuple[int, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    value_range: str = ""
    columns: tuple[str, ...] = ()
    rules: str = ""


def simulated_summary(settings: Settings, index: int) -> ClientSummary:
    """Return what client `index` has, without making its tensors; raises as `simulated_partition`."""
    partition, dataset = simulated_partition(settings), _dataset(settings)
    rows = {split: partition.indices[split][index] for split in dataset.splits()}
    classes = np.unique(dataset.train.labels[rows["train"]]).tolist() if dataset.class_names else []
    return ClientSummary(
        partition.client_names[index],
        tuple(map(int, classes)),
        dataset.class_names,
        {split: len(chosen) for split, chosen in rows.items()},
        dataset.input_shape,
        tuple(dataset.mean.tolist()),
        tuple(dataset.std.tolist()),
        dataset.value_range,
        dataset.columns,
        dataset.rules,
    )


@lru_cache(maxsize=CACHED_CLIENTS)
def simulated_client(settings: Settings, index: int) -> ClientData:
    """Return the data of client `index` of the simulated federation.

    Clients that stay out of the run, or do not train, have no part in the normalisation either. Raises as
    `simulated_partition`.
    """
    partition = simulated_partition(settings)
    return client_data(_dataset(settings), partition, index)


def _with_noise(partition: Partition, dataset: Dataset, settings: Settings) -> Partition:
    """The same with a noise model for each client, where the settings ask for it."""
    if settings.noise == "none":
        return partition
    input_shape = dataset.input_shape
    if len(input_shape) != 3 or input_shape[0] not in (1, 3) or dataset.train.inputs.dtype != np.uint8:
        raise ConfigError(
            f"noise = {settings.noise!r} is for images of bytes that are grey or coloured, and inputs of "
            f"{settings.dataset!r} have shape {shape_text(input_shape)}: set noise = 'none'."
        )
    return replace(partition, noise=assigned(settings.clients, settings.seed, settings.noise))


def left_out_sites(settings: Settings) -> tuple[str, ...]:
    """Sites of the data set that have too few samples to be clients; none where clients are no sites."""
    dataset = dataset_of(settings)
    sites = dataset.sites if PARTITIONS[settings.partition].sites else None
    return sites.left_out(settings.natural_floor) if sites else ()


def _partitioner(dataset: Dataset, settings: Settings) -> Partitioner:
    """What splits the data set; ConfigError where it asks for sites and there are none."""
    known = entry(PARTITIONS, "partition", settings.partition)
    if known.sites and dataset.sites is None:
        able = ", ".join(name for name, each in DATASETS.items() if each.sites)
        raise ConfigError(
            f"partition = {settings.partition!r} makes the sites of a data set its clients, and dataset = "
            f"{settings.dataset!r} names none: choose one of {able}, or set partition = 'k-class'."
        )
    if known.sites and 0 < settings.train_samples < len(dataset.train):
        raise ConfigError(
            f"train-samples = {settings.train_samples} does not go with partition = {settings.partition!r}, whose "
            "clients have all samples of their sites: set train-samples = 0."
        )
    found = known.load()
    split: Partitioner = partial(found, sites=dataset.sites) if known.sites else found
    return split


def _check_task(settings: Settings) -> None:
    """Raise ConfigError where the data set belongs to another task than that of the settings."""
    task = DATASETS[settings.dataset].task
    if task and task != settings.task:
        raise ConfigError(
            f"task = {settings.task!r} does not go with dataset = {settings.dataset!r}, which is for {task}: "
            f"set task = {task!r}, or choose another data set."
        )


@lru_cache(maxsize=1)
def _dataset(settings: Settings) -> Dataset:
    """The data set, normalised by the training samples of the clients that train."""
    dataset = dataset_of(settings)
    partition = simulated_partition(settings)
    whole = settings.trainers == settings.clients and "train" not in partition.left_out
    if whole and not PARTITIONS[settings.partition].sites:
        return dataset
    rows = partition.indices["train"][: settings.trainers]
    mean, std = input_statistics(dataset.train.inputs[np.concatenate(rows)])
    return replace(dataset, mean=mean, std=std)
