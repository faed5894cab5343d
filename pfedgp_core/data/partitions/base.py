"""A partition: which client holds which sample of a data set, with its file and its hash.

A way to split is one file beside this one and one line of `pfedgp_core.registry.PARTITIONS`.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from pfedgp_core.checks import MALFORMED, count, finite, text
from pfedgp_core.config import Settings
from pfedgp_core.data.corruptions.noise_models import NoisePlan
from pfedgp_core.errors import DamagedStateError, DataError
from pfedgp_core.files.json_file import parse_object
from pfedgp_core.words import cut

__all__ = ["Partition", "Partitioner", "check_enough", "checked_labels", "client_names", "frozen"]

_FORMAT = 1


@dataclass(frozen=True, eq=False)
class Partition:
    """Index sets of every client; immutable, and equal to another one if all its content is.

    Parameters
    ----------
    client_names : tuple of str
        ``client-00``, ``client-01``, ...
    classes : tuple of tuple of int
        The classes of each client, ascending.
    fractions : tuple of tuple of float
        The share of each of those classes that the client holds; sums to 1 over the holders of a class.
    indices : dict of str to tuple of int64 arrays
        For each split (``train``, ``validation``, ``test``) one ascending index array per client.
    noise : NoisePlan, optional
        Through which noise model each client sees its images.
    left_out : dict of str to int
        Samples of a split that nobody holds; empty where every sample has a holder.
    """

    client_names: tuple[str, ...]
    classes: tuple[tuple[int, ...], ...]
    fractions: tuple[tuple[float, ...], ...]
    indices: dict[str, tuple[np.ndarray, ...]]
    noise: NoisePlan | None = None
    left_out: dict[str, int] = field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Partition) and self.hash == other.hash

    def __hash__(self) -> int:
        return int(self.hash[:15], 16)

    def sizes(self, split: str = "train") -> tuple[int, ...]:
        """Return the number of samples of each client in one split."""
        return tuple(len(rows) for rows in self.indices[split])

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical content, in hex: equal for equal partitions on every machine."""
        canonical = json.dumps(self._content(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def to_json(self) -> str:
        """Return the partition and its hash as one JSON text."""
        return json.dumps({"format": _FORMAT, "hash": self.hash} | self._content())

    @classmethod
    def from_json(cls, written: str) -> "Partition":
        """Read what ``to_json`` wrote.

        Raises
        ------
        DamagedStateError
            The text is no partition, or its content does not match its hash.
        """
        try:
            content = parse_object(written)
            if content.pop("format") != _FORMAT:
                raise ValueError("unknown format")
            claimed = content.pop("hash")
            partition = cls(
                client_names=tuple(map(text, content["client_names"])),
                classes=tuple(tuple(map(count, row)) for row in content["classes"]),
                fractions=tuple(tuple(map(finite, row)) for row in content["fractions"]),
                indices={
                    split: tuple(frozen(list(map(count, rows))) for rows in each)
                    for split, each in content["indices"].items()
                },
                left_out={text(split): count(n) for split, n in content.get("left_out", {}).items()},
                noise=NoisePlan.of(content["noise"], len(content["client_names"])) if "noise" in content else None,
            )
        except MALFORMED as error:
            raise DamagedStateError(
                f"This is not a partition ({cut(error, 100)}); make it again from its seed."
            ) from None
        if partition.hash != claimed:
            raise DamagedStateError(
                f"The partition was changed after it was written (hash {partition.hash[:12]}, written as "
                f"{cut(claimed, 12)}); make it again from its seed."
            )
        return partition

    def _content(self) -> dict[str, Any]:
        content = {
            "client_names": self.client_names,
            "classes": self.classes,
            "fractions": self.fractions,
            "indices": {split: [rows.tolist() for rows in each] for split, each in self.indices.items()},
        }
        # Fields that say nothing are not written, so that the hashes of published partitions stay.
        more = {"noise": self.noise.content() if self.noise else None, "left_out": self.left_out}
        return content | {key: value for key, value in more.items() if value}


class Partitioner(Protocol):
    """A way to split a data set over simulated clients, decided by ``settings.seed``."""

    def __call__(self, labels: Mapping[str, np.ndarray], n_classes: int, settings: Settings) -> Partition:
        """Split the samples.

        Parameters
        ----------
        labels : mapping of str to int array [N]
            Class ids 0..n_classes-1 of each split; has ``train``. The samples of a regression are all of class 0.
        n_classes : int
            Classes of the data set; 1 in regression.
        settings : Settings
            ``clients``, ``seed``, and what the partition needs of its own.

        Returns
        -------
        Partition
            Disjoint index sets of ``settings.clients`` clients for every split.

        Raises
        ------
        ConfigError
            The settings do not fit the classes.
        DataError
            Labels out of range, or too few samples.
        """


def client_names(clients: int) -> tuple[str, ...]:
    """``client-00``, ``client-01``, ..., as wide as the last number."""
    width = max(2, len(str(clients - 1)))
    return tuple(f"client-{i:0{width}d}" for i in range(clients))


def checked_labels(labels: Mapping[str, np.ndarray], n_classes: int) -> dict[str, np.ndarray]:
    """The labels of each split as int64 [N].

    Raises
    ------
    DataError
        There is no split ``train``, or labels are no integers from 0 to n_classes - 1.
    """
    if "train" not in labels:
        raise DataError(f"There is no split 'train' among {sorted(labels)}; name the training labels 'train'.")
    checked = {}
    for split, each in labels.items():
        array = np.asarray(each)
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            raise DataError(
                f"Labels of split {split!r} are {array.dtype} {list(array.shape)}; give integers of shape [N]."
            )
        checked[split] = array.astype(np.int64)
        if array.size and not 0 <= array.min() <= array.max() < n_classes:
            raise DataError(
                f"Labels of split {split!r} run from {array.min()} to {array.max()}; "
                f"give class ids from 0 to {n_classes - 1}."
            )
    return checked


def check_enough(train_labels: np.ndarray, n_classes: int, holders: int) -> None:
    """Raise DataError where a class has fewer training samples than clients that hold it, such as none."""
    counts = np.bincount(train_labels, minlength=n_classes)
    c = int(counts.argmin())
    if not counts[c]:
        raise DataError(
            f"Class {c} has no training sample, so no client could learn it: give it some, or remove its samples from "
            "the validation and test data, too."
        )
    if counts[c] < holders:
        raise DataError(
            f"Class {c} has {counts[c]} training samples for {holders} clients that hold it; "
            f"use fewer clients, fewer classes per client or more data."
        )


def frozen(rows: Any) -> np.ndarray:
    """Indices as an int64 array that cannot be changed."""
    array = np.array(rows, dtype=np.int64)
    array.setflags(write=False)
    return array
