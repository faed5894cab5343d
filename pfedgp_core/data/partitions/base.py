"""A partition: which sample of a data set is whose, with its file and its hash."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pfedgp_core.errors import ArtefactError

__all__ = ["Partition"]

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
    """

    client_names: tuple[str, ...]
    classes: tuple[tuple[int, ...], ...]
    fractions: tuple[tuple[float, ...], ...]
    indices: dict[str, tuple[np.ndarray, ...]]

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
    def from_json(cls, text: str) -> "Partition":
        """Read what ``to_json`` wrote.

        Raises
        ------
        ArtefactError
            The text is no partition, or its content does not match its hash.
        """
        try:
            content = json.loads(text)
            if content.pop("format") != _FORMAT:
                raise ValueError("unknown format")
            claimed = content.pop("hash")
            partition = cls(
                client_names=tuple(content["client_names"]),
                classes=tuple(tuple(row) for row in content["classes"]),
                fractions=tuple(tuple(row) for row in content["fractions"]),
                indices={split: tuple(_frozen(rows) for rows in each) for split, each in content["indices"].items()},
            )
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise ArtefactError(f"This is not a partition ({error!r}); write it again with to_json.") from None
        if partition.hash != claimed:
            raise ArtefactError(
                f"The partition was changed after it was written (hash {partition.hash[:12]}, written as "
                f"{str(claimed)[:12]}); make it again from its seed."
            )
        return partition

    def _content(self) -> dict[str, Any]:
        return {
            "client_names": self.client_names,
            "classes": self.classes,
            "fractions": self.fractions,
            "indices": {split: [rows.tolist() for rows in each] for split, each in self.indices.items()},
        }


def _frozen(rows: Any) -> np.ndarray:
    array = np.array(rows, dtype=np.int64)
    array.setflags(write=False)
    return array
