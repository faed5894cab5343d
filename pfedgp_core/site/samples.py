"""A site's training samples as a classifier sees them, in an order that does not depend on how they arrived.

A sample is known by the hash of its input and its class; samples are sorted by it. Samples that arrive in two parts are
then, bit for bit, the samples that arrive at once. The hashes stay with the features, so raw inputs are not kept.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pfedgp_core.data.samples import Split
from pfedgp_core.errors import DataError
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
    """

    features: np.ndarray
    labels: np.ndarray
    digests: np.ndarray

    @classmethod
    def compute(cls, split: Split, model: TrainedModel) -> "SiteSamples":
        """Features of raw samples under the model.

        Raises
        ------
        DataError
            There are no samples.
        """
        if not len(split):
            raise DataError("A site needs at least one sample: its data are empty.")
        features = model.features_one_by_one(split.inputs).numpy()
        return cls._sorted(features, split.labels, sample_digests(split, model.class_names))

    def union(self, other: "SiteSamples") -> "SiteSamples":
        """The samples of both."""
        pairs = zip(
            (self.features, self.labels, self.digests), (other.features, other.labels, other.digests), strict=True
        )
        return self._sorted(*(np.concatenate(pair) for pair in pairs))

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def sha256(self) -> str:
        """Hash of all samples, hex; the same for every order of arrival."""
        return digest_of(self.digests)

    def repeated(self) -> int:
        """How many samples equal another one before them."""
        return len(self) - len(np.unique(self.digests, axis=0))

    def counts(self, class_names: Sequence[str]) -> dict[str, int]:
        """Samples of each class that has some, by name, in the federation's order."""
        numbers = np.bincount(self.labels, minlength=len(class_names)).tolist()
        return {name: count for name, count in zip(class_names, numbers, strict=True) if count}

    @classmethod
    def _sorted(cls, features: np.ndarray, labels: np.ndarray, digests: np.ndarray) -> "SiteSamples":
        order = np.lexsort(digests.T[::-1])
        return cls(*(np.ascontiguousarray(array[order]) for array in (features, labels, digests)))


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
