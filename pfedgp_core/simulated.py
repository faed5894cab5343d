"""The simulated federation that settings describe: a data set and its partition, loaded at most once per process."""

from functools import lru_cache

from pfedgp_core.config import Settings
from pfedgp_core.datasets import ClientData, client_data, load_dataset
from pfedgp_core.partition import Partition, k_class_partition

__all__ = ["simulated_client", "simulated_partition"]

# A worker of the simulation engine serves many clients in turn; this many keep their tensors.
CACHED_CLIENTS = 16


def simulated_partition(settings: Settings) -> Partition:
    """Return how the data set is split over the clients; decided by the settings alone."""
    return _partition(*_key(settings))


def simulated_client(settings: Settings, index: int) -> ClientData:
    """Return the data of client `index` of the simulated federation."""
    return _client(*_key(settings), index)


def _key(settings: Settings) -> tuple[str, str, int, int, int]:
    return settings.dataset, settings.data_root, settings.seed, settings.clients, settings.classes_per_client


@lru_cache(maxsize=1)
def _partition(name: str, root: str, seed: int, clients: int, classes_per_client: int) -> Partition:
    dataset = load_dataset(name, root, seed)
    return k_class_partition(dataset.labels, len(dataset.class_names), clients, classes_per_client, seed)


@lru_cache(maxsize=CACHED_CLIENTS)
def _client(name: str, root: str, seed: int, clients: int, classes_per_client: int, index: int) -> ClientData:
    return client_data(load_dataset(name, root, seed), _partition(name, root, seed, clients, classes_per_client), index)
