"""Natural sites: the hospital, school or writer that each sample of a data set comes from, and a split inside each."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pfedgp_core.errors import DataError
from pfedgp_core.numerics.streams import Stream

__all__ = ["SPLITS", "Sites", "split_inside"]

SPLITS = ("train", "validation", "test")
_PATTERN = (0, 1, 0, 2, 0)  # of five samples in a row three are for training, one for validation and one for test


@dataclass(frozen=True, eq=False)
class Sites:
    """Where the samples of a data set come from.

    Parameters
    ----------
    names : tuple of str
        Of all sites, each once.
    of : mapping of str to int64 array [N]
        For each split, the site of each sample: an index into `names`.

    Raises
    ------
    DataError
        A name comes twice, or an index names no site.
    """

    names: tuple[str, ...]
    of: Mapping[str, np.ndarray]

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names):
            raise DataError(f"{len(self.names)} sites have {len(set(self.names))} names; give each a name of its own.")
        for split, each in self.of.items():
            if each.size and not 0 <= each.min() <= each.max() < len(self.names):
                raise DataError(
                    f"Sites of split {split!r} run from {each.min()} to {each.max()}; give 0 to {len(self.names) - 1}."
                )

    def counts(self, split: str) -> np.ndarray:
        """Samples of each site in a split, int64 [sites]."""
        return np.bincount(self.of[split], minlength=len(self.names)).astype(np.int64)

    def rows(self, split: str) -> list[np.ndarray]:
        """The samples of each site in a split, int64, ascending."""
        return _grouped(self.of[split], len(self.names))

    def kept(self, floor: int) -> np.ndarray:
        """The sites that can be clients, int64 [K]: `floor` samples in all splits together, and one for training."""
        total = np.sum([self.counts(split) for split in self.of], axis=0)
        return np.flatnonzero((total >= floor) & (self.counts("train") > 0))

    def left_out(self, floor: int) -> tuple[str, ...]:
        """The names of all others."""
        kept = set(self.kept(floor).tolist())
        return tuple(name for i, name in enumerate(self.names) if i not in kept)


def split_inside(sites: np.ndarray, strata: np.ndarray, stream: Stream) -> dict[str, np.ndarray]:
    """Split the samples of each site 60 / 20 / 20, each stratum as evenly as whole samples allow.

    The samples of a site stand in a row, a stratum after the other, in a drawn order. A pattern of five goes along the
    row from a drawn place. So each sample is a test sample with probability 1/5, and of n >= 5 samples of a site each
    split has its share to within one.

    Parameters
    ----------
    sites, strata : int array [N]
        Of each sample: its site, and its class (all 0 in regression).
    stream : Stream

    Returns
    -------
    dict of str to int64 array
        The samples of train, validation and test, ascending.
    """
    part = np.empty(len(sites), dtype=np.int64)
    for site, rows in enumerate(_grouped(sites, int(sites.max(initial=-1)) + 1)):
        draw = stream.child(site).numpy
        order = draw.permutation(strata.max() + 1)  # of the strata
        mixed = draw.permutation(rows)
        row = mixed[np.argsort(order[strata[mixed]], kind="stable")]
        part[row] = np.take(_PATTERN, (np.arange(len(row)) + draw.integers(len(_PATTERN))) % len(_PATTERN))
    return {split: np.flatnonzero(part == i) for i, split in enumerate(SPLITS)}


def _grouped(groups: np.ndarray, n: int) -> list[np.ndarray]:
    """The places of each group 0..n-1, ascending."""
    ends = np.cumsum(np.bincount(groups, minlength=n))
    return np.split(np.argsort(groups, kind="stable"), ends[:-1]) if n else []
