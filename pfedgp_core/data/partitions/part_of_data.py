"""A partition of all samples or of some of the training samples, which says what it leaves out."""

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
    """Split ``train-samples`` of the training samples, drawn from each class in proportion, and all other splits.

    Takes what `Partitioner` does, raises what it does, and ConfigError where there are not so many samples. What nobody
    holds, because of that setting or of the partitioner, is counted in ``left_out``.
    """
    wanted, there = settings.train_samples, len(labels["train"])
    if wanted > there:
        raise ConfigError(
            f"train-samples = {wanted} is more than the {there} training samples of {settings.dataset!r}: lower it, or "
            "set 0 for all."
        )
    if wanted in (0, there):
        part = split(labels, n_classes, settings)
    else:
        rows = stratified_sample(labels["train"], wanted, Stream(settings.seed, "partition", "train-samples"))
        part = split({**labels, "train": labels["train"][rows]}, n_classes, settings)
        train = tuple(frozen(rows[own]) for own in part.indices["train"])
        part = replace(part, indices=part.indices | {"train": train})
    left = {name: len(each) - sum(part.sizes(name)) for name, each in labels.items()}
    return replace(part, left_out={name: n for name, n in left.items() if n})
