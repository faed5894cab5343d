"""A partition of some of the training samples: drawn from each class in proportion, and the rest is left out."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.data.partitions.base import Partition, Partitioner, frozen
from pfedgp_core.data.partitions.stratified import stratified_sample
from pfedgp_core.errors import ConfigError
from pfedgp_core.numerics.streams import Stream

__all__ = ["partition_data"]


def partition_data(
    split: Partitioner, labels: Mapping[str, np.ndarray], n_classes: int, settings: Settings
) -> Partition:
    """Split ``train-samples`` of the training samples, or all, and all of the other splits.

    Takes what `Partitioner` does, raises what it does, and ConfigError where there are not so many samples.
    """
    wanted, there = settings.train_samples, len(labels["train"])
    if wanted > there:
        raise ConfigError(
            f"train-samples = {wanted} is more than the {there} training samples of {settings.dataset!r}: lower it, or "
            "set 0 for all."
        )
    if wanted in (0, there):
        return split(labels, n_classes, settings)
    rows = stratified_sample(labels["train"], wanted, Stream(settings.seed, "partition", "train-samples"))
    part = split({**labels, "train": labels["train"][rows]}, n_classes, settings)
    train = tuple(frozen(rows[own]) for own in part.indices["train"])
    return replace(part, indices=part.indices | {"train": train}, left_out={"train": there - wanted})
