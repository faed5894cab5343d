"""Equal random shares: every client holds all classes, and all clients have the same mix of them."""

from collections.abc import Mapping

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.data.partitions.base import Partition, check_enough, checked_labels, client_names, frozen
from pfedgp_core.numerics.streams import Stream

__all__ = ["homogeneous"]


def homogeneous(labels: Mapping[str, np.ndarray], n_classes: int, settings: Settings) -> Partition:
    """See ``Partitioner``.

    In every split the clients' numbers of samples differ by at most one, of each class and of all classes together.
    Each client has at least one training sample of every class; in a small validation or test split it may have none.
    """
    clients = settings.clients
    checked = checked_labels(labels, n_classes)
    check_enough(checked["train"], n_classes, clients)
    stream = Stream(settings.seed, "partition", "homogeneous")
    indices = {}
    for split, each in checked.items():
        by_class = [stream.child(split, c).numpy.permutation(np.flatnonzero(each == c)) for c in range(n_classes)]
        # Dealt round as cards are, without a new start at a new class; who is served first is drawn.
        rows = np.concatenate(by_class)
        order = stream.child(split, "order").numpy.permutation(clients)
        holder = order[np.arange(len(rows)) % clients]
        indices[split] = tuple(frozen(np.sort(rows[holder == client])) for client in range(clients))
    return Partition(
        client_names=client_names(clients),
        classes=(tuple(range(n_classes)),) * clients,
        fractions=((1 / clients,) * n_classes,) * clients,
        indices=indices,
    )
