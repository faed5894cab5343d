"""The simulated federation that settings describe: a data set and its partition, loaded at most once per process."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.data.datasets import ClientData, Dataset, client_data, input_statistics, load_dataset
from pfedgp_core.data.partitions.base import Partition
from pfedgp_core.data.partitions.k_class import k_class_partition
from pfedgp_core.errors import ConfigError

__all__ = ["simulated_client", "simulated_partition"]

# A worker of the simulation engine serves many clients in turn; this many keep their tensors.
CACHED_CLIENTS = 16


def simulated_partition(settings: Settings) -> Partition:
    """Return how the data set is split over the clients; decided by the settings alone."""
    _check_task(settings)
    return _partition(*_key(settings))


def simulated_client(settings: Settings, index: int) -> ClientData:
    """Return the data of client `index` of the simulated federation.

    Clients that stay out of the run have no part in the normalisation either.
    """
    _check_task(settings)
    return _client(*_key(settings), settings.participants, index)


def _check_task(settings: Settings) -> None:
    """Raise ConfigError where the data set belongs to another task than that of the settings."""
    task = load_dataset(settings.dataset, settings.data_root, settings.seed).task
    if task != settings.task:
        raise ConfigError(
            f"task = {settings.task!r} does not go with dataset = {settings.dataset!r}, which is for {task}: "
            f"set task = {task!r}, or choose another data set."
        )


def _key(settings: Settings) -> tuple[str, str, int, int, int]:
    return settings.dataset, settings.data_root, settings.seed, settings.clients, settings.classes_per_client


@lru_cache(maxsize=1)
def _partition(name: str, root: str, seed: int, clients: int, classes_per_client: int) -> Partition:
    dataset = load_dataset(name, root, seed)
    if dataset.task == "regression":
        # Without classes every client shares in all samples, with the same fractions ~ U(.4, .6).
        return k_class_partition(dataset.labels, 1, clients, 1, seed)
    return k_class_partition(dataset.labels, len(dataset.class_names), clients, classes_per_client, seed)


@lru_cache(maxsize=1)
def _dataset(name: str, root: str, seed: int, clients: int, classes_per_client: int, participants: int) -> Dataset:
    dataset = load_dataset(name, root, seed)
    if participants == clients:
        return dataset
    rows = _partition(name, root, seed, clients, classes_per_client).indices["train"][:participants]
    mean, std = input_statistics(dataset.train.inputs[np.concatenate(rows)])
    return replace(dataset, mean=mean, std=std)


@lru_cache(maxsize=CACHED_CLIENTS)
def _client(
    name: str, root: str, seed: int, clients: int, classes_per_client: int, participants: int, index: int
) -> ClientData:
    partition = _partition(name, root, seed, clients, classes_per_client)
    dataset = _dataset(name, root, seed, clients, classes_per_client, participants)
    return client_data(dataset, partition, index)
