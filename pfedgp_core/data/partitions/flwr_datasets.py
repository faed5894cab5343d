"""Partitions by the package flwr-datasets, an extra: any of its partitioners, named by ``flwr-partitioner``.

The partitioner splits the training samples. Validation and test samples follow the clients' shares of each class, so
that a client is tested on its own mix, which the package's partitioners, made for each split anew, do not promise.
"""

import importlib
import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.data.partitions.base import Partition, checked_labels, frozen
from pfedgp_core.data.partitions.shares import Shares, shared_out
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.setting import choices_text
from pfedgp_core.words import cut, few

__all__ = ["by_flwr_datasets"]

_LABEL, _ROW = "label", "row"


def by_flwr_datasets(labels: Mapping[str, np.ndarray], n_classes: int, settings: Settings) -> Partition:
    """See ``Partitioner``. Some partitioners give training samples to nobody.

    Raises
    ------
    ConfigError
        The package is missing, or there is no such partitioner, or it refuses its arguments or the data.
    DataError
        It gives a sample to two clients, or none to some client.
    """
    checked = checked_labels(labels, n_classes)
    train = checked["train"]
    parts = _parts(train, settings)
    rows = np.concatenate(parts)
    if len(np.unique(rows)) < len(rows):
        raise DataError(
            f"{settings.flwr_partitioner!r} gives samples to two clients: choose a partitioner of disjoint parts."
        )
    if empty := [str(i) for i, part in enumerate(parts) if not len(part)]:
        raise DataError(
            f"{settings.flwr_partitioner!r} gives the clients {few(empty)} no sample: change its arguments, or lower "
            "clients."
        )
    counts = np.array([np.bincount(train[part], minlength=n_classes) for part in parts])
    held = counts.sum(axis=0)
    shares = np.where(held > 0, counts / np.maximum(held, 1), 1 / settings.clients)
    stream = Stream(settings.seed, "partition", "flwr-datasets")
    others = {split: each for split, each in checked.items() if split != "train"}
    made = shared_out(others, Shares(shares, counts), stream)
    return replace(made, indices={"train": tuple(map(frozen, parts)), **made.indices})


def _parts(train: np.ndarray, settings: Settings) -> list[np.ndarray]:
    """The rows of each client, ascending."""
    name, arguments = _parsed(settings.flwr_partitioner)
    try:
        known = importlib.import_module("flwr_datasets.partitioner")
        tables = importlib.import_module("datasets")
    except ImportError as error:
        raise ConfigError(
            f"partition = 'flwr-datasets' needs the package flwr-datasets, which cannot be imported ({error}): run pip "
            "install 'pfedgp[flwr-datasets]', or choose another partition."
        ) from None
    names = sorted(each for each in vars(known) if each.endswith("Partitioner") and each != "Partitioner")
    if name not in names:
        raise ConfigError(f"flwr-partitioner = {cut(name, 60)!r} is not known; {choices_text(name, names)}")
    kind = getattr(known, name)
    usual = {"num_partitions": settings.clients, "partition_by": _LABEL, "seed": settings.seed}
    taken = {key: value for key, value in usual.items() if key in inspect.signature(kind).parameters}
    try:
        partitioner = kind(**taken | arguments)
        partitioner.dataset = tables.Dataset.from_dict({_LABEL: train.tolist(), _ROW: list(range(len(train)))})
        found = [partitioner.load_partition(i)[_ROW] for i in range(settings.clients)]
    except Exception as error:  # noqa: BLE001 (whatever a foreign partitioner raises is about its arguments)
        raise ConfigError(
            f"flwr-partitioner = {settings.flwr_partitioner!r} cannot split the data ({type(error).__name__}: "
            f"{cut(error, 200)}): change its arguments."
        ) from None
    return [np.sort(np.array(list(rows), dtype=np.int64)) for rows in found]


def _parsed(text: str) -> tuple[str, dict[str, Any]]:
    """The name and the arguments in a text such as ``DirichletPartitioner alpha=0.5 self_balancing=false``."""
    name, *words = text.split()[:50] or [""]
    arguments: dict[str, Any] = {}
    for word in words:
        key, separator, value = word.partition("=")
        if not separator or not key.isidentifier():
            raise ConfigError(
                f"flwr-partitioner = {cut(text, 100)!r} is not of the form 'NAME key=value ...': correct {word!r}."
            )
        arguments[key] = _value(value)
    return name, arguments


def _value(text: str) -> int | float | bool | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
