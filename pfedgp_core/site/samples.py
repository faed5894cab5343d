"""A site's training samples as a classifier sees them, in an order that does not depend on how they arrived.

A sample is known by the hash of its input and its class; samples are sorted by it. Samples that arrive in two parts are
then, bit for bit, the samples that arrive at once. The hashes stay with the features, so raw inputs are not kept.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pfedgp_core.data.own.groups import group_numbers
from pfedgp_core.data.samples import Split
from pfedgp_core.errors import DataError
from pfedgp_core.site.origins import UNKNOWN, Origin
from pfedgp_core.site.trained_model import TrainedModel

__all__ = ["SiteSamples", "digest_of", "sample_digests"]


@dataclass(frozen=True)
class SiteSamples:
    """Samples in canonical order. Equal samples are kept as often as they arrived: in a table they are evidence.

    Attributes
    ----------
    features : numpy.ndarray, float32 [N, d]
        Of the network, before the unit sphere: a tree is built from class means of these.
    labels : numpy.ndarray, int64 [N]
        The federation's class ids.
    digests : numpy.ndarray, uint8 [N, 32]
        SHA-256 of each sample, ascending.
    origins : tuple of Origin, length N
        Of equal samples the smaller one first; `UNKNOWN` where none are given.

    Raises
    ------
    DataError
        There are origins of another number of samples.
    """

    features: np.ndarray
    labels: np.ndarray
    digests: np.ndarray
    origins: tuple[Origin, ...] = ()

    def __post_init__(self) -> None:
        if not self.origins:
            object.__setattr__(self, "origins", (UNKNOWN,) * len(self.labels))
        if len(self.origins) != len(self.labels):
            raise DataError(f"{len(self.origins)} origins for {len(self.labels)} samples: give one for each.")

    @classmethod
    def compute(cls, split: Split, model: TrainedModel, origins: Sequence[Origin] = ()) -> "SiteSamples":
        """Features of raw samples under the model.

        Raises
        ------
        DataError
            There are no samples.
        """
        if not len(split):
            raise DataError("A site needs at least one sample: its data are empty.")
        features = model.features_one_by_one(split.inputs).numpy()
        digests = sample_digests(split, model.class_names)
        return _sorted(cls(features, split.labels, digests, tuple(origins)))

    def union(self, other: "SiteSamples") -> "SiteSamples":
        """The samples of both."""
        features = np.concatenate([self.features, other.features])
        labels, digests = (
            np.concatenate([getattr(one, key) for one in (self, other)]) for key in ("labels", "digests")
        )
        return _sorted(SiteSamples(features, labels, digests, self.origins + other.origins))

    def take(self, rows: np.ndarray) -> "SiteSamples":
        """The samples of some rows, int64 [n] or bool [N], in the order of the rows."""
        chosen = np.arange(len(self))[rows].tolist()
        parts = (self.features[chosen], self.labels[chosen], self.digests[chosen])
        return SiteSamples(*parts, tuple(self.origins[i] for i in chosen))

    def arrived_with(self, batch: int) -> "SiteSamples":
        """The same samples, as those that came with one addition of a site."""
        return replace(self, origins=tuple(origin._replace(batch=batch) for origin in self.origins))

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def sha256(self) -> str:
        """Hash of all samples, hex; the same for every order of arrival."""
        return digest_of(self.digests)

    def repeated(self) -> int:
        """How many samples equal another one before them."""
        return len(self) - len(np.unique(self.digests, axis=0))

    @property
    def groups(self) -> np.ndarray | None:
        """The number of each sample's group, int64 [N]; None where the samples name no groups."""
        names = [origin.group for origin in self.origins]
        return group_numbers(names) if any(names) else None

    def repeated_elsewhere(self) -> int:
        """How many samples equal one of another group; without groups, one before them."""
        groups = self.groups
        if groups is None:
            return self.repeated()
        pairs = {(row.tobytes(), group) for row, group in zip(self.digests, groups.tolist(), strict=True)}
        return len(pairs) - len({digest for digest, _ in pairs})

    def counts(self, class_names: Sequence[str]) -> dict[str, int]:
        """Samples of each class that has some, by name, in the federation's order."""
        numbers = np.bincount(self.labels, minlength=len(class_names)).tolist()
        return {name: count for name, count in zip(class_names, numbers, strict=True) if count}


def _sorted(samples: SiteSamples) -> SiteSamples:
    by_origin = np.array(sorted(range(len(samples)), key=samples.origins.__getitem__), dtype=np.int64)
    return samples.take(by_origin[np.lexsort(samples.digests[by_origin].T[::-1])])


def sample_digests(split: Split, class_names: Sequence[str]) -> np.ndarray:
    """SHA-256 of every sample: shape and values of its input, name of its class. Shapes: -> uint8 [N, 32]."""
    head = f"{split.inputs.dtype} {list(split.inputs.shape[1:])} ".encode()
    rows = [
        hashlib.sha256(head + class_names[label].encode() + b"\0" + values.tobytes()).digest()
        for values, label in zip(split.inputs, split.labels.tolist(), strict=True)
    ]
    return np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), 32)


def digest_of(digests: np.ndarray) -> str:
    """Hash of a set of samples, hex, from their digests in any order."""
    order = np.lexsort(digests.T[::-1])
    return hashlib.sha256(digests[order].tobytes()).hexdigest()
