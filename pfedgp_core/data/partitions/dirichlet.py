"""A Dirichlet partition: every client has a mix of classes of its own, and as many samples as come with it.

Each client's mix is drawn from Dirichlet(alpha, ..., alpha) over the classes; the smaller alpha, the fewer classes make
up a client. The samples of a class are shared out in proportion to what its clients have of it, so all of them have a
holder. Clients then differ in size too. A draw that leaves a client with too few training samples is drawn anew, a
bounded number of times.

With ``dirichlet-balanced`` all clients have equally many training samples, as in Hsu, Qi and Brown, "Measuring the
effects of non-identical data distribution for federated visual classification" (2019): client by client, in random
order, samples are drawn by the client's mix from what is left. The last ones take what the others left over.

With ``novel-alpha`` clients that do not train make a group of their own (`groups`).
"""

from collections.abc import Mapping

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.data.partitions.base import Partition, checked_labels
from pfedgp_core.data.partitions.groups import two_groups
from pfedgp_core.data.partitions.shares import Shares, drawn_shares, sample_counts, shared_out
from pfedgp_core.numerics.streams import Stream

__all__ = ["balanced_counts", "class_shares", "dirichlet"]

_LEAST = 1e-12  # of a proportion; smaller ones make no difference and cost exact arithmetic


def dirichlet(labels: Mapping[str, np.ndarray], n_classes: int, settings: Settings) -> Partition:
    """See ``Partitioner``. The shares of a class are the same in every split."""
    checked = checked_labels(labels, n_classes)
    stream = Stream(settings.seed, "partition", "dirichlet")
    if settings.novel_alpha > 0 and settings.trainers < settings.clients:
        return two_groups(checked, n_classes, settings, stream, _one_group)
    return _one_group(checked, n_classes, settings, stream)


def class_shares(proportions: np.ndarray) -> np.ndarray:
    """Return which share of each class goes to each client, float64 [clients, classes]; columns sum to 1.

    Parameters
    ----------
    proportions : float array [clients, classes]
        The mix of each client; its rows sum to 1.
    """
    least = np.maximum(proportions, _LEAST)
    shares: np.ndarray = least / least.sum(axis=0)
    return shares


def balanced_counts(proportions: np.ndarray, class_counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return counts, int64 [clients, classes], whose rows have equal sums up to one, drawn by each client's mix.

    Parameters
    ----------
    proportions : float array [clients, classes]
        The mix of each client; its rows sum to 1.
    class_counts : int array [classes]
        Columns of the result sum to them.
    rng : Generator
    """
    clients, left = len(proportions), class_counts.astype(np.int64)
    counts = np.zeros(proportions.shape, np.int64)
    sizes = np.full(clients, left.sum() // clients)
    sizes[: left.sum() % clients] += 1
    for client, size in zip(rng.permutation(clients), sizes, strict=True):
        missing = int(size)
        while missing:
            mix = np.where(left > 0, proportions[client], 0.0)
            if mix.sum() < _LEAST:  # all of the client's classes are gone
                mix = left.astype(np.float64)
            taken = np.minimum(rng.multinomial(missing, mix / mix.sum()), left)
            counts[client] += taken
            left = left - taken
            missing -= int(taken.sum())
    return counts


def _one_group(labels: Mapping[str, np.ndarray], n_classes: int, settings: Settings, stream: Stream) -> Partition:
    class_counts, alpha = np.bincount(labels["train"], minlength=n_classes), settings.dirichlet_alpha

    def draw(tried: int) -> Shares | None:
        rng = stream.child("mix", tried).numpy
        mixes = rng.dirichlet(np.full(n_classes, alpha), size=settings.clients)
        if settings.dirichlet_balanced:
            counts = balanced_counts(mixes, class_counts, rng)
            return Shares(class_shares(counts / np.maximum(class_counts, 1)), counts)
        shares = class_shares(mixes)
        if (shares * class_counts).sum(axis=1).min() < settings.dirichlet_floor:  # exact counts take longer
            return None
        return Shares(shares, sample_counts(shares, class_counts))

    return shared_out(labels, drawn_shares(class_counts, settings, draw), stream)
