"""What a partition gives to whom, as counts: for tables, figures and programs."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pfedgp_core.data.partitions.base import Partition

__all__ = ["class_counts", "overview"]


def class_counts(partition: Partition, labels: np.ndarray, n_classes: int, split: str = "train") -> np.ndarray:
    """Samples of each class that each client holds, int64 [clients, classes].

    Parameters
    ----------
    partition : Partition
    labels : int array [N]
        Of the split.
    n_classes : int
    split : str
    """
    return np.array([np.bincount(labels[rows], minlength=n_classes) for rows in partition.indices[split]])


def overview(partition: Partition, labels: Mapping[str, np.ndarray], class_names: tuple[str, ...]) -> dict[str, Any]:
    """The partition in counts, as values of JSON.

    Parameters
    ----------
    partition : Partition
    labels : mapping of str to int array [N]
        Of every split.
    class_names : tuple of str
        Empty in regression, where there is no table of classes.
    """
    tables = {split: class_counts(partition, each, max(1, len(class_names)), split) for split, each in labels.items()}
    clients = []
    for i, name in enumerate(partition.client_names):
        row: dict[str, Any] = {"name": name}
        for split, table in tables.items():
            held = {class_names[c]: int(table[i, c]) for c in np.flatnonzero(table[i])} if class_names else {}
            row[split] = {"samples": int(table[i].sum())} | ({"classes": held} if class_names else {})
        if partition.noise:
            row["noise"] = str(partition.noise.models[i])
        clients.append(row)
    return {
        "hash": partition.hash,
        "samples": {split: int(table.sum()) for split, table in tables.items()},
        "left_out": partition.left_out,
        "clients": clients,
    }
