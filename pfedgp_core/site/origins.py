"""Where a site's samples came from: the id and the group of each, and with which change of the site it arrived.

The classifier does not depend on any of this, so it lies beside the classifier's own files. An id is what the data call
a sample, as in predictions; of a group, such as a patient, there is only a hash, as in the site's split.
"""

from collections.abc import Sequence
from typing import NamedTuple

from pfedgp_core.data.own.groups import group_hashes
from pfedgp_core.data.own.samples import Samples

__all__ = ["UNKNOWN", "Origin", "origins_of"]


class Origin(NamedTuple):
    """Of one sample.

    Attributes
    ----------
    id : str
        Empty where the site does not know it.
    group : str
        Hash of the group's name, hex; empty where it has none.
    batch : int
        0 for the data that the site was made from, n for those that its n-th addition brought.
    """

    id: str
    group: str
    batch: int


UNKNOWN = Origin("", "", 0)


def origins_of(samples: Samples) -> tuple[Origin, ...]:
    """Origins of samples that were just read, as of a new site."""
    groups: Sequence[str] = [""] * len(samples) if samples.groups is None else group_hashes(samples.groups)
    return tuple(Origin(name, group, 0) for name, group in zip(samples.ids, groups, strict=True))
