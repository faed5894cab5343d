"""Sharing out the samples of each class by given shares, the same in every split."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.data.partitions.base import Partition, client_names, frozen
from pfedgp_core.data.partitions.k_class import largest_remainder_counts
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.numerics.streams import Stream

__all__ = ["TRIES", "Shares", "check_floor", "drawn_shares", "sample_counts", "shared_out"]

TRIES = 1000


class Shares(NamedTuple):
    """Who gets what of each class.

    Attributes
    ----------
    shares : float64 array [clients, classes]
        Of each class; columns sum to 1.
    counts : int64 array [clients, classes]
        Training samples; columns sum to the samples of the class.
    """

    shares: np.ndarray
    counts: np.ndarray


def sample_counts(shares: np.ndarray, class_counts: np.ndarray) -> np.ndarray:
    """Return how many samples of each class each client gets, int64 [clients, classes], dropping none.

    Parameters
    ----------
    shares : float array [clients, classes]
        Positive; columns sum to 1.
    class_counts : int array [classes]
    """
    columns = [largest_remainder_counts(share, int(n)) for share, n in zip(shares.T, class_counts, strict=True)]
    return np.array(columns, dtype=np.int64).T


def check_floor(class_counts: np.ndarray, settings: Settings) -> None:
    """Raise DataError where there are fewer training samples than ``dirichlet-floor`` for each client."""
    clients, floor = settings.clients, settings.dirichlet_floor
    if class_counts.sum() < clients * floor:
        raise DataError(
            f"{class_counts.sum()} training samples are too few for clients = {clients} with dirichlet-floor = {floor} "
            "each: lower one of them."
        )


def drawn_shares(class_counts: np.ndarray, settings: Settings, draw: Callable[[int], Shares | None]) -> Shares:
    """Draw until every client has ``dirichlet-floor`` training samples.

    Parameters
    ----------
    class_counts : int array [classes]
        Training samples of each class.
    settings : Settings
    draw : callable
        The shares of the try with this number; None where they are short of the floor without a count.

    Raises
    ------
    DataError
        There are fewer samples than that makes in all.
    ConfigError
        None of `TRIES` draws gave every client so many.
    """
    check_floor(class_counts, settings)
    floor = settings.dirichlet_floor
    for tried in range(TRIES):
        drawn = draw(tried)
        if drawn is not None and drawn.counts.sum(axis=1).min() >= floor:
            return drawn
    raise ConfigError(
        f"dirichlet-alpha = {settings.dirichlet_alpha:g} left one of clients = {settings.clients} with fewer than "
        f"dirichlet-floor = {floor} training samples in each of {TRIES} draws: raise dirichlet-alpha, or lower clients "
        "or dirichlet-floor."
    )


def shared_out(labels: Mapping[str, np.ndarray], drawn: Shares, stream: Stream) -> Partition:
    """Give each client its part of every class of every split.

    Validation and test samples of a class go only to clients that have training samples of it, wherever there are any.

    Parameters
    ----------
    labels : mapping of str to int64 array [N]
    drawn : Shares
    stream : Stream
    """
    shares, held = drawn
    clients, n_classes = held.shape
    owners = (held > 0) | (held.sum(axis=0) == 0)
    shares = np.where(owners, shares, 0.0)
    shares /= shares.sum(axis=0)
    indices = {}
    for split, each in labels.items():
        parts: list[list[np.ndarray]] = [[] for _ in range(clients)]
        for c in range(n_classes):
            rows = stream.child(split, c).numpy.permutation(np.flatnonzero(each == c))
            holders = np.flatnonzero(owners[:, c])
            counts = held[holders, c] if split == "train" else largest_remainder_counts(shares[holders, c], len(rows))
            for client, part in zip(holders, np.split(rows, np.cumsum(counts)[:-1]), strict=True):
                parts[client].append(part)
        indices[split] = tuple(frozen(np.sort(np.concatenate(own))) for own in parts)
    return Partition(
        client_names=client_names(clients),
        classes=tuple(tuple(np.flatnonzero(own).tolist()) for own in owners),
        fractions=tuple(tuple(row[own].tolist()) for row, own in zip(shares, owners, strict=True)),
        indices=indices,
    )
