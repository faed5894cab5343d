"""Onboarding over a running deployment: a published model and this node's own data become its personal classifier.

The node's operator decides in the node config what is read and written; the server names no path of a site.

=================  ====================================================================================================
node config        meaning
=================  ====================================================================================================
``site``           folder of the site's classifier; default: ``site`` in ``state``. Without both the node takes no
                   published model
``data-path``      the site's labelled data, as for ``pfedgp onboard --data``, or the name of a built-in data set
``state``          folder with the site's kept split, of which the training part is used; without it all data at
                   ``data-path`` are (of a folder with parts, those in ``train``)
``label-column``   column of a table that holds the class (default ``label``)
``columns``        with ``drop``, ``id-column`` and ``encoding``: see `client.source`
``column-key``     file with the key under which the federation's sites hash their names of columns
``resize``         true: resize images to the size that the model takes
``client-name``    the site's name, which its answer carries
``partition-id``   in place of ``data-path``: the training data of this client of the model's simulated federation
=================  ====================================================================================================
"""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from client.column_policy import ColumnPolicy
from client.foreign_code import allowed_code, refuse_code_of_server, with_own_root
from client.memory import require_room_for_model, site_limit
from client.onboard import Onboarding, Outcome
from client.own_site import own_site
from client.source import Source
from pfedgp_core.data.datasets import Split, client_splits, dataset_of
from pfedgp_core.data.own.layout import layout_of
from pfedgp_core.data.own.samples import Samples
from pfedgp_core.data.simulated import simulated_partition
from pfedgp_core.errors import ConfigError, DataError, NoSiteFolderError
from pfedgp_core.methods.make import require_onboards
from pfedgp_core.names import NAME_LIMIT, name_fault
from pfedgp_core.registry import DATASETS
from pfedgp_core.site.saved import is_site
from pfedgp_core.site.trained_model import TrainedModel
from pfedgp_core.wire.publication import CREATED, REFRESHED, UNCHANGED, OnboardReply

__all__ = ["onboard_node"]


def onboard_node(model: TrainedModel, node_config: Mapping[str, Any]) -> OnboardReply:
    """Create this node's site, or make it again where the model, its data or its name changed.

    Parameters
    ----------
    model : TrainedModel
    node_config : mapping
        Of the Flower node.

    Raises
    ------
    NoSiteFolderError
        The node config names no folder for the site.
    ConfigError, DataError, ArtefactError
        The model's method gives a newcomer no classifier, the data cannot be used, or the folder cannot be written; a
        site that was there stays as it was.
    """
    began = time.perf_counter()
    state = str(node_config.get("state", "")).strip()
    folder = str(node_config.get("site", "")).strip() or (f"{state}/site" if state else "")
    if not folder:
        raise NoSiteFolderError(
            "This node takes no published model: name the folder of its site, such as --node-config "
            "'site=\"/state/ward-3\"'."
        )
    refuse_code_of_server(model.settings, node_config)
    require_onboards(model.settings)
    require_room_for_model(model, node_config)
    model = replace(model, allowed=(model.settings.network,))  # by the operator, or pFedGP's own
    model.prepare()  # refuses a vector of another length, or one that is not finite
    name, source = _source(model, node_config)
    onboarding = Onboarding(
        Path(folder).expanduser(),
        name or None,
        _resize(model, node_config),
        str(node_config.get("label-column", "label")),
        (*model.allowed, *allowed_code(node_config)),
        ColumnPolicy.of(node_config).key,
        layout_of(node_config),
    )
    existed = is_site(onboarding.out)
    outcome = onboarding.refresh([source], model) if existed else onboarding.create(model, [source])
    return OnboardReply(
        # By default a site is named after its folder, and that is part of a path.
        name=name,
        samples=len(outcome.site.samples),
        classes=outcome.site.class_names,
        took_part=outcome.site.took_part,
        outcome=_kind(outcome, existed),
        model_sha256=outcome.site.model.sha256,
        seconds=time.perf_counter() - began,
    )


def _kind(outcome: Outcome, existed: bool) -> str:
    if not outcome.written:
        return UNCHANGED
    return REFRESHED if existed else CREATED


def _resize(model: TrainedModel, node_config: Mapping[str, Any]) -> bool:
    """Whether images are resized: where the node says so, or where the federation that made the model did."""
    return bool(node_config.get("resize", False)) or bool(model.settings.input_shape)


def _source(model: TrainedModel, node_config: Mapping[str, Any]) -> tuple[str, Path | Samples | Split]:
    """The client's name, empty where it has none, and its data: its own, or a part of the model's simulation."""
    name = str(node_config.get("client-name", "")).strip()
    if name and (fault := name_fault(name, NAME_LIMIT)):
        raise ConfigError(
            f"client-name = {name!r} is not a name, as it {fault}: give at most {NAME_LIMIT} printable characters."
        )
    if path := str(node_config.get("data-path", "")).strip():
        state = str(node_config.get("state", "")).strip()
        if not state and path not in DATASETS:
            return name, Path(path).expanduser()
        source = Source(
            name,
            path,
            str(node_config.get("data-root", "")).strip(),
            str(node_config.get("label-column", "label")),
            state,
            model.input_shape,
            resize=_resize(model, node_config),
            memory=site_limit(node_config),
            layout=replace(layout_of(node_config), rules=model.settings.column_rules),
            columns=ColumnPolicy.of(node_config),
        )
        return name, own_site(source).refresh().parts["train"]
    if "partition-id" not in node_config:
        raise DataError(
            "This node has no data: give it the path of labelled data, such as --node-config "
            "'data-path=\"/data/ward-3.npz\"'."
        )
    simulated, split = _simulated(model, node_config)
    return name or simulated, split


def _simulated(model: TrainedModel, node_config: Mapping[str, Any]) -> tuple[str, Split]:
    """Name and training data of a client of the model's simulated federation, one that stayed out of it as well."""
    settings, index = with_own_root(model.settings, node_config), node_config["partition-id"]
    partition = simulated_partition(settings)
    if index not in range(settings.clients):
        raise ConfigError(
            f"partition-id = {index} is out of range: the model's federation has the clients 0 to "
            f"{settings.clients - 1}."
        )
    dataset = dataset_of(settings)
    if dataset.class_names != model.class_names:
        raise DataError(
            f"The model has other classes than the data set {settings.dataset!r}: give this node its own data with "
            "data-path."
        )
    return partition.client_names[index], client_splits(dataset, partition, index)["train"]
