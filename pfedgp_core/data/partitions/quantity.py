"""Quantity skew: every client has the same mix of classes, and a size of its own.

Every client has ``dirichlet-floor`` training samples, and the rest is shared out by one draw from
Dirichlet(alpha, ..., alpha) over the clients; the smaller ``dirichlet-alpha``, the more they differ. Which samples
these are is drawn without regard to their classes.
"""

from collections.abc import Mapping

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.data.partitions.base import Partition, checked_labels
from pfedgp_core.data.partitions.k_class import largest_remainder_counts
from pfedgp_core.data.partitions.shares import Shares, check_floor, shared_out
from pfedgp_core.numerics.streams import Stream

__all__ = ["quantity"]


def quantity(labels: Mapping[str, np.ndarray], n_classes: int, settings: Settings) -> Partition:
    """See ``Partitioner``. A client that is small enough can lack a class."""
    checked = checked_labels(labels, n_classes)
    stream = Stream(settings.seed, "partition", "quantity")
    class_counts = np.bincount(checked["train"], minlength=n_classes)

    check_floor(class_counts, settings)
    clients, floor, left = settings.clients, settings.dirichlet_floor, class_counts
    mix = stream.child("sizes").numpy.dirichlet(np.full(clients, settings.dirichlet_alpha))
    more = largest_remainder_counts(np.maximum(mix, 1e-12).tolist(), int(class_counts.sum()) - clients * floor)
    counts = np.zeros((clients, n_classes), np.int64)
    for client, size in enumerate(more):
        counts[client] = stream.child("classes", client).numpy.multivariate_hypergeometric(left, floor + size)
        left = left - counts[client]
    return shared_out(checked, Shares(_of_each(counts, class_counts), counts), stream)


def _of_each(counts: np.ndarray, class_counts: np.ndarray) -> np.ndarray:
    """Shares of each class; of one without training samples by the clients' sizes."""
    sizes = counts.sum(axis=1) / counts.sum()
    shares: np.ndarray = np.where(class_counts > 0, counts / np.maximum(class_counts, 1), sizes[:, None])
    return shares
