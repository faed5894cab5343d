"""Extended Dirichlet: each client holds k classes, and the holders of a class share it by Dirichlet(alpha).

Li and Lyu, "Convergence analysis of sequential federated learning on heterogeneous data" (2023), call it
ExDir(k, alpha). Every class has equally many holders, as in the partition k-class; the smaller alpha, the more unequal
their parts.
"""

from collections.abc import Mapping

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.data.partitions.base import Partition, checked_labels
from pfedgp_core.data.partitions.k_class import assign_classes
from pfedgp_core.data.partitions.shares import Shares, shared_out
from pfedgp_core.errors import DataError
from pfedgp_core.numerics.streams import Stream

__all__ = ["extended_dirichlet"]


def extended_dirichlet(labels: Mapping[str, np.ndarray], n_classes: int, settings: Settings) -> Partition:
    """See ``Partitioner``.

    Every client has its part of ``dirichlet-floor`` of each of its classes first; the rest is drawn.
    """
    checked = checked_labels(labels, n_classes)
    stream = Stream(settings.seed, "partition", "extended-dirichlet")
    class_counts = np.bincount(checked["train"], minlength=n_classes)
    clients = settings.clients
    owners = np.zeros((clients, n_classes), bool)
    k = settings.classes_per_client
    chosen = assign_classes(n_classes, clients, k, stream.child("classes").numpy)
    np.put_along_axis(owners, chosen, True, axis=1)
    holders, first = int(owners[:, 0].sum()), -(-settings.dirichlet_floor // k)
    fewest = int(class_counts.argmin())
    if class_counts[fewest] < holders * first:
        raise DataError(
            f"Class {fewest} has {class_counts[fewest]} training samples for {holders} clients with at least {first} "
            f"of it each (dirichlet-floor = {settings.dirichlet_floor} over {k} classes): lower dirichlet-floor or "
            "clients."
        )
    counts = np.where(owners, first, 0)
    for c in range(n_classes):
        rng = stream.child("mix", c).numpy
        mix = rng.dirichlet(np.full(holders, settings.dirichlet_alpha))
        counts[owners[:, c], c] += rng.multinomial(class_counts[c] - holders * first, mix / mix.sum())
    return shared_out(checked, Shares(counts / class_counts, counts), stream)
