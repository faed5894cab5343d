"""The simulated federation that settings describe: a data set and its partition, loaded at most once per process."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.data.datasets import ClientData, Dataset, client_data, input_statistics, load_dataset
from pfedgp_core.data.partitions.base import Partition, Partitioner
from pfedgp_core.errors import ConfigError
from pfedgp_core.registry import DATASETS, PARTITIONS, entry

__all__ = ["simulated_client", "simulated_partition"]

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
    dataset = load_dataset(settings.dataset, settings.data_root, settings.seed)
    split: Partitioner = entry(PARTITIONS, "partition", settings.partition).load()
    if dataset.class_names:
        return split(dataset.labels, len(dataset.class_names), settings)
    # Without classes there is one kind of sample, in which every client shares.
    return split(dataset.labels, 1, settings.replace(classes_per_client=1))


@lru_cache(maxsize=CACHED_CLIENTS)
def simulated_client(settings: Settings, index: int) -> ClientData:
    """Return the data of client `index` of the simulated federation.

    Clients that stay out of the run have no part in the normalisation either. Raises as `simulated_partition`.
    """
    partition = simulated_partition(settings)
    return client_data(_dataset(settings), partition, index)


def _check_task(settings: Settings) -> None:
    """Raise ConfigError where the data set belongs to another task than that of the settings."""
    task = DATASETS[settings.dataset].task
    if task != settings.task:
        raise ConfigError(
            f"task = {settings.task!r} does not go with dataset = {settings.dataset!r}, which is for {task}: "
            f"set task = {task!r}, or choose another data set."
        )


@lru_cache(maxsize=1)
def _dataset(settings: Settings) -> Dataset:
    """The data set, normalised by the clients that take part."""
    dataset = load_dataset(settings.dataset, settings.data_root, settings.seed)
    if settings.participants == settings.clients:
        return dataset
    rows = simulated_partition(settings).indices["train"][: settings.participants]
    mean, std = input_statistics(dataset.train.inputs[np.concatenate(rows)])
    return replace(dataset, mean=mean, std=std)
