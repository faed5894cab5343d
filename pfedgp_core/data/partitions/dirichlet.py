"""A Dirichlet partition: every client has a mix of classes of its own, and as many samples as come with it.

Each client's mix is drawn from Dirichlet(alpha, ..., alpha) over the classes; the smaller alpha, the fewer classes make
up a client. The samples of a class are shared out in proportion to what its clients have of it, so all of them have a
holder. Clients then differ in size too. A draw that leaves a client with too few training samples is drawn anew, a
bounded number of times.
"""

from collections.abc import Mapping

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.data.partitions.base import Partition, checked_labels, client_names, frozen
from pfedgp_core.data.partitions.k_class import largest_remainder_counts
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.numerics.streams import Stream

__all__ = ["TRIES", "class_shares", "dirichlet", "sample_counts"]

TRIES = 1000
_LEAST = 1e-12  # of a proportion; smaller ones make no difference and cost exact arithmetic


def dirichlet(labels: Mapping[str, np.ndarray], n_classes: int, settings: Settings) -> Partition:
    """See ``Partitioner``.

    The shares of a class are the same in every split. Validation and test samples of a class go only to clients that
    have training samples of it, wherever there are any.
    """
    checked = checked_labels(labels, n_classes)
    stream = Stream(settings.seed, "partition", "dirichlet")
    shares, held = _drawn(np.bincount(checked["train"], minlength=n_classes), settings, stream)
    owners = (held > 0) | (held.sum(axis=0) == 0)
    shares = np.where(owners, shares, 0.0)
    shares /= shares.sum(axis=0)
    indices = {}
    for split, each in checked.items():
        parts: list[list[np.ndarray]] = [[] for _ in range(settings.clients)]
        for c in range(n_classes):
            rows = stream.child(split, c).numpy.permutation(np.flatnonzero(each == c))
            holders = np.flatnonzero(owners[:, c])
            counts = held[holders, c] if split == "train" else largest_remainder_counts(shares[holders, c], len(rows))
            for client, part in zip(holders, np.split(rows, np.cumsum(counts)[:-1]), strict=True):
                parts[client].append(part)
        indices[split] = tuple(frozen(np.sort(np.concatenate(own))) for own in parts)
    return Partition(
        client_names=client_names(settings.clients),
        classes=tuple(tuple(np.flatnonzero(own).tolist()) for own in owners),
        fractions=tuple(tuple(row[own].tolist()) for row, own in zip(shares, owners, strict=True)),
        indices=indices,
    )


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


def sample_counts(shares: np.ndarray, class_counts: np.ndarray) -> np.ndarray:
    """Return how many samples of each class each client gets, int64 [clients, classes], dropping none.

    Parameters
    ----------
    shares : float array [clients, classes]
        As `class_shares` returns them.
    class_counts : int array [classes]
    """
    columns = [largest_remainder_counts(share, int(n)) for share, n in zip(shares.T, class_counts, strict=True)]
    return np.array(columns, dtype=np.int64).T


def _drawn(class_counts: np.ndarray, settings: Settings, stream: Stream) -> tuple[np.ndarray, np.ndarray]:
    """Draw until every client has enough training samples.

    Returns
    -------
    shares : float64 [clients, classes]
        Of each class.
    counts : int64 [clients, classes]
        Training samples.
    """
    clients, alpha, floor = settings.clients, settings.dirichlet_alpha, settings.dirichlet_floor
    if class_counts.sum() < clients * floor:
        raise DataError(
            f"{class_counts.sum()} training samples are too few for clients = {clients} with dirichlet-floor = {floor} "
            "each: lower one of them."
        )
    for tried in range(TRIES):
        draw = stream.child("mix", tried).numpy
        shares = class_shares(draw.dirichlet(np.full(len(class_counts), alpha), size=clients))
        if (shares * class_counts).sum(axis=1).min() < floor:  # before the exact counts, which take longer
            continue
        counts = sample_counts(shares, class_counts)
        if counts.sum(axis=1).min() >= floor:
            return shares, counts
    raise ConfigError(
        f"dirichlet-alpha = {alpha:g} left one of clients = {clients} with fewer than dirichlet-floor = {floor} "
        f"training samples in each of {TRIES} draws: raise dirichlet-alpha, or lower clients or dirichlet-floor."
    )
