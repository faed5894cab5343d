"""Two groups of clients, each with its part of the data: those that train, and novel ones that never do.

Figure "OOD" of the paper: 90 % of the data are split over 90 clients by Dirichlet(.1), and 10 % over 10 novel clients
by Dirichlet(alpha), so that novel clients differ from the others the more, the larger alpha is.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.data.partitions.base import Partition, client_names, frozen
from pfedgp_core.data.partitions.stratified import stratified_split
from pfedgp_core.numerics.streams import Stream

__all__ = ["two_groups"]

Split = Callable[[Mapping[str, np.ndarray], int, Settings, Stream], Partition]


def two_groups(
    labels: Mapping[str, np.ndarray], n_classes: int, settings: Settings, stream: Stream, split: Split
) -> Partition:
    """Split each group's part of the data by itself.

    A group's part of every class is its part of the clients. The training group does not depend on ``novel-alpha``, so
    one trained model can be tried on novel clients of any alpha.

    Parameters
    ----------
    labels : mapping of str to int64 array [N]
    n_classes : int
    settings : Settings
        ``dirichlet-alpha`` is that of the clients that train, ``novel-alpha`` that of the others.
    stream : Stream
    split : callable
        Splits the labels of one group over the clients of its settings.
    """
    novel = settings.clients - settings.trainers
    parts: list[Partition] = []
    chosen = {
        name: stratified_split(each, (settings.trainers, novel), stream.child("groups", name))
        for name, each in labels.items()
    }
    for place, (clients, alpha) in enumerate(
        ((settings.trainers, settings.dirichlet_alpha), (novel, settings.novel_alpha))
    ):
        group = settings.replace(
            clients=clients,
            dirichlet_alpha=alpha,
            novel_clients=0,
            unseen_clients=0,
            clients_per_round=1,
            min_results=1,
        )
        rows = {name: both[place] for name, both in chosen.items()}
        made = split({name: each[rows[name]] for name, each in labels.items()}, n_classes, group, stream.child(place))
        share = [_share(labels["train"], rows["train"], c, clients / settings.clients) for c in range(n_classes)]
        parts.append(_within(made, rows, share))
    train, other = parts
    return Partition(
        client_names=client_names(settings.clients),
        classes=train.classes + other.classes,
        fractions=train.fractions + other.fractions,
        indices={name: train.indices[name] + other.indices[name] for name in labels},
    )


def _share(labels: np.ndarray, rows: np.ndarray, c: int, otherwise: float) -> float:
    """The part of a class that the rows hold."""
    n = int((labels == c).sum())
    return float((labels[rows] == c).sum() / n) if n else otherwise


def _within(part: Partition, rows: Mapping[str, np.ndarray], share: list[float]) -> Partition:
    """The partition of a group, in terms of the whole data set."""
    return replace(
        part,
        fractions=tuple(
            tuple(fraction * share[c] for c, fraction in zip(own, each, strict=True))
            for own, each in zip(part.classes, part.fractions, strict=True)
        ),
        indices={name: tuple(frozen(rows[name][i]) for i in each) for name, each in part.indices.items()},
    )
