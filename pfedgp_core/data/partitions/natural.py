"""Natural sites: each hospital, school or writer that the data set names is a client with the samples of its own."""

from collections.abc import Mapping

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.data.partitions.base import Partition, checked_labels, frozen
from pfedgp_core.data.partitions.sites import Sites
from pfedgp_core.errors import ConfigError
from pfedgp_core.numerics.streams import Stream

__all__ = ["drawn_sites", "natural"]


def natural(labels: Mapping[str, np.ndarray], n_classes: int, settings: Settings, sites: Sites) -> Partition:
    """Make each site with at least ``natural-floor`` samples a client.

    Where ``clients`` is fewer than there are such sites, that many of them are drawn by the seed. Nobody else has the
    samples of the other sites: they take no part in the run.

    Parameters
    ----------
    labels, n_classes, settings
        See ``Partitioner``.
    sites : Sites
        Of the samples.

    Raises
    ------
    ConfigError
        There are fewer such sites than ``clients``.
    DataError
        Labels out of range.
    """
    checked = checked_labels(labels, n_classes)
    kept, wanted = sites.kept(settings.natural_floor), settings.clients
    if len(kept) < wanted:
        raise ConfigError(
            f"clients = {wanted} is more than the {len(kept)} of {len(sites.names)} sites that have at least "
            f"natural-floor = {settings.natural_floor} samples: lower one of them."
        )
    kept = drawn_sites(kept, settings)
    own = {split: sites.rows(split) for split in checked}
    indices = {split: tuple(frozen(own[split][site]) for site in kept.tolist()) for split in checked}
    counts = np.array([np.bincount(checked["train"][rows], minlength=n_classes) for rows in indices["train"]])
    shares = counts / np.maximum(counts.sum(axis=0), 1)
    held = [
        np.unique(np.concatenate([checked[split][indices[split][client]] for split in checked]))
        for client in range(wanted)
    ]
    unused = {split: len(each) - sum(map(len, indices[split])) for split, each in checked.items()}
    return Partition(
        client_names=tuple(sites.names[site] for site in kept.tolist()),
        classes=tuple(tuple(some.tolist()) for some in held),
        fractions=tuple(tuple(row[some].tolist()) for row, some in zip(shares, held, strict=True)),
        indices=indices,
        left_out={split: n for split, n in unused.items() if n},
    )


def drawn_sites(kept: np.ndarray, settings: Settings) -> np.ndarray:
    """As many of the sites as there are clients, ascending; all where there are no more."""
    if len(kept) <= settings.clients:
        return kept
    return np.sort(Stream(settings.seed, "partition", "natural").numpy.choice(kept, settings.clients, replace=False))
