"""The data of the site that this process serves: its part of a simulated data set, or its own."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pfedgp_core.config import Settings
from pfedgp_core.datasets import ClientData
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.simulated import simulated_client, simulated_partition

__all__ = ["Site", "load_site"]


@dataclass(frozen=True)
class Site:
    """A client's data, and the hash of the partition it is a part of (empty for a site's own data)."""

    data: ClientData
    partition_hash: str


def load_site(settings: Settings, node_config: Mapping[str, Any]) -> Site:
    """Load the data of the node that this process serves; what was loaded once stays in memory.

    Parameters
    ----------
    settings : Settings
        Of the run; name the data set and its partition in a simulation.
    node_config : mapping
        Of the Flower node. ``partition-id`` and ``num-partitions`` make it a part of a simulation; ``client-name``
        names the client, by default its part of the partition does.

    Raises
    ------
    ConfigError
        The simulation's number of nodes does not fit the run's number of clients.
    DataError
        The data cannot be loaded, or the node has none.
    """
    if "partition-id" not in node_config:
        raise DataError(
            "This node has no data: start it with --node-config 'partition-id=0 num-partitions=2' for its part of a "
            "simulated data set; a site's own data (data-path) is not supported by this version."
        )
    index, nodes = node_config["partition-id"], node_config.get("num-partitions")
    if nodes != settings.participants:
        raise ConfigError(
            f"num-partitions = {nodes} on this node and {settings.participants} participating clients in the run do "
            "not fit: start as many nodes as clients take part, each with num-partitions set to that number."
        )
    if index not in range(settings.participants):
        raise ConfigError(
            f"partition-id = {index} is out of range; give each node one of 0 to {settings.participants - 1}."
        )
    data = simulated_client(settings, int(index))
    name = str(node_config.get("client-name", data.name))
    return Site(replace(data, name=name), simulated_partition(settings).hash)
