"""The data of the site that this process serves: its part of a simulated data set, or its own."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from client.column_greeting import column_greeting
from client.foreign_code import with_own_root
from client.own_site import OwnSite, own_site
from client.source import Source
from pfedgp_core.column_rules import FEDERATED
from pfedgp_core.config import Settings
from pfedgp_core.data.datasets import ClientData, TensorSplit
from pfedgp_core.data.own.class_ids import map_classes
from pfedgp_core.data.own.model_scale import looks_inverted
from pfedgp_core.data.simulated import simulated_client, simulated_partition, simulated_summary
from pfedgp_core.data.spec import DataSpec, class_list
from pfedgp_core.data.value_range import OPEN
from pfedgp_core.devices import choose_device
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.wire.hello import Hello
from pfedgp_core.wire.versions import software_versions
from pfedgp_core.words import shape_text

__all__ = ["Site", "greeting", "load_site"]

logger = logging.getLogger("pfedgp.client")

CACHED_CLIENTS = 16


@dataclass(frozen=True)
class Site:
    """A client's data, and where they are."""

    data: ClientData
    device: torch.device


def load_site(settings: Settings, node_config: Mapping[str, Any], spec: DataSpec | None = None) -> Site:
    """Load the data of the node that this process serves; what was loaded once stays in memory.

    Parameters
    ----------
    settings : Settings
        Of the run; name the data set and its partition in a simulation.
    node_config : mapping
        Of the Flower node. ``data-path`` gives the site its own data (`own_site`); ``partition-id`` and
        ``num-partitions`` make it a part of a simulation, whose partition names the client unless ``client-name`` does.
        ``device`` is where the data and the model are.
    spec : DataSpec, optional
        Classes, shape and normalisation of the federation, which a site with data of its own needs.

    Raises
    ------
    ConfigError
        The simulation's number of nodes does not fit the run's number of clients, or there is no such device.
    DataError
        The data cannot be loaded or do not fit the federation, or the node has none.
    ArtefactError
        The kept split of a site's own data is damaged.
    """
    device = choose_device(str(node_config.get("device", "auto")))
    if has_own_data(node_config):
        if spec is None:
            raise DataError(
                "The server's request does not describe the federation's data: run the same pfedgp version on both "
                "sides."
            )
        return Site(own_site(Source.of(settings, node_config)).loaded().data(spec, device), device)
    settings = with_own_root(settings, node_config)
    index = _partition_id(settings, node_config)
    data = _simulated(settings, index, device)
    name = str(node_config.get("client-name", data.name))
    return Site(replace(data, name=name), device)


def greeting(settings: Settings, node_config: Mapping[str, Any], spec: DataSpec | None = None) -> Hello:
    """Say who this client is and what it has; data of its own are read again if their files changed.

    Where the sites are to agree on rules for their columns and have not yet, it tells of these (`column_greeting`).

    A site that has a class which the federation lacks, or inputs of another shape, says so in its own log; its hello
    says so to the server.

    Parameters
    ----------
    settings, node_config
        As for `load_site`, which raises alike.
    spec : DataSpec, optional
        Of a federation that trains already.
    """
    if has_own_data(node_config):
        choose_device(str(node_config.get("device", "auto")))
        source = Source.of(settings, node_config)
        if settings.column_rules_from == FEDERATED and (told := column_greeting(source)):
            return told
        own = own_site(source).refresh()
        _warn_of_misfit(own, settings, spec)
        return _hello_of(own)
    choose_device(str(node_config.get("device", "auto")))
    settings = with_own_root(settings, node_config)
    data = simulated_summary(settings, _partition_id(settings, node_config))
    return Hello(
        name=str(node_config.get("client-name", data.name)),
        # Where there are no classes the labels are targets, which stay here.
        classes=data.classes,
        class_names=data.class_names,
        n_train=data.samples["train"],
        n_validation=data.samples["validation"],
        n_test=data.samples["test"],
        input_shape=data.input_shape,
        partition_hash=simulated_partition(settings).hash,
        versions=software_versions(),
        mean=data.mean,
        std=data.std,
        columns=data.columns,
        value_range=data.value_range,
        rules=data.rules,
    )


def has_own_data(node_config: Mapping[str, Any]) -> bool:
    """Whether the node has data of its own."""
    return bool(str(node_config.get("data-path", "")).strip())


def _hello_of(own: OwnSite) -> Hello:
    return Hello(
        name=own.source.name,
        classes=tuple(sorted(set(map_classes(sorted(own.trained_classes), own.class_names).tolist()))),
        class_names=own.class_names,
        n_train=own.count("train"),
        n_validation=own.count("validation"),
        n_test=own.count("test"),
        input_shape=own.input_shape,
        partition_hash="",
        versions=software_versions(),
        mean=own.mean,
        std=own.std,
        columns=own.sent_columns,
        value_range=own.value_range,
    )


def _warn_of_misfit(own: OwnSite, settings: Settings, spec: DataSpec | None) -> None:
    """Tell the operator of the site what the server will say of it."""
    if spec and own.input_shape != spec.input_shape:  # by the setting input-shape the data were read
        logger.warning(
            "this site cannot take part: its inputs have shape %s, those of the federation %s; bring its data to that "
            "shape",
            shape_text(own.input_shape),
            shape_text(spec.input_shape),
        )
    if spec and (reason := own.range_misfit(spec)):
        logger.warning("this site cannot take part: %s", reason)
    if spec and own.value_range not in ("", OPEN) and looks_inverted(np.array(own.mean), np.array(spec.mean)):
        logger.warning(
            "the images are %s, and those of the federation are not: check whether their grey values are inverted",
            "light" if np.mean(own.mean) > 0.5 else "dark",
        )
    if spec and (doubt := _other_columns(own, spec)):
        logger.warning("%s", doubt)
    class_names = spec.class_names if spec else class_list(settings.class_names)
    if not class_names or not own.class_names:
        return
    try:
        map_classes(own.class_names, class_names)
    except DataError as error:
        logger.warning("this site cannot take part: %s", error)


def _other_columns(own: OwnSite, spec: DataSpec) -> str:
    """Say that a table's columns are not those of the federation, or go by their position; empty where all is well."""
    columns = own.parts["train"].columns
    if not columns or not spec.columns or len(columns) != len(spec.columns):
        return ""
    wanted = own.source.columns.wanted(spec.columns, "the federation")
    try:
        order = wanted.order("this site's table", columns)
    except DataError as error:
        return f"this site cannot take part: {error}" if own.sent_columns else ""
    if own.sent_columns or order == tuple(range(len(order))):
        return ""
    return (
        "this site gives no names of its columns (column-names = none), and they are taken by position although the "
        "federation has them in another order: bring the table to the order " + ", ".join(spec.columns[:20])
    )


def _partition_id(settings: Settings, node_config: Mapping[str, Any]) -> int:
    """The node's part of the simulated data set."""
    if "partition-id" not in node_config:
        raise DataError(
            'This node has no data: start it with --node-config \'client-name="ward-3" data-path="/data/ward-3"\' '
            "for data of its own, or with --node-config 'partition-id=0 num-partitions=2' for a part of a simulated "
            "data set."
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
    return int(index)


@lru_cache(maxsize=CACHED_CLIENTS)
def _simulated(settings: Settings, index: int, device: torch.device) -> ClientData:
    """A simulated client's data on a device; on a CPU the tensors are those that all runs share."""
    data = simulated_client(settings, index)

    def moved(split: TensorSplit) -> TensorSplit:
        return TensorSplit(split.inputs.to(device), split.labels.to(device))

    return replace(data, train=moved(data.train), validation=moved(data.validation), test=moved(data.test))
