"""Groups of samples, such as those of a patient or the slices of a volume: what belongs together stays together.

A group is known by a hash of its name: the site's split file and its classifier hold no name of a patient.
"""

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from pfedgp_core.words import counted, few

__all__ = ["group_hashes", "group_numbers", "shared_groups_text", "units_of"]


def group_hashes(groups: Sequence[str]) -> list[str]:
    """Hex hashes of the names of groups, length N."""
    known = {name: hashlib.sha256(b"pfedgp-group\0" + name.encode()).hexdigest() for name in set(groups)}
    return [known[name] for name in groups]


def group_numbers(groups: Sequence[str]) -> np.ndarray:
    """The number of each sample's group, int64 [N], in the order in which groups appear; an empty text is none.

    A sample without a group is one by itself.
    """
    known: dict[str, int] = {}
    numbers = [known.setdefault(name or f"\0{i}", len(known)) for i, name in enumerate(groups)]
    return np.array(numbers, dtype=np.int64)


def units_of(digests: Sequence[str], groups: Sequence[str] | None) -> dict[str, str]:
    """The unit of each input, by digest: equal inputs and those of a group are one unit, and so is what these connect.

    Parameters
    ----------
    digests : sequence of str, length N
    groups : sequence of str, length N, optional
        Without any, an input is a unit of its own.

    Returns
    -------
    dict of str to str
        The smallest digest of the unit.
    """
    root = {digest: digest for digest in digests}

    def top(digest: str) -> str:
        while root[digest] != digest:
            root[digest] = root[root[digest]]
            digest = root[digest]
        return digest

    first: dict[str, str] = {}
    for digest, group in zip(digests, groups or (), strict=False):
        one, other = top(digest), top(first.setdefault(group, digest))
        root[max(one, other)] = min(one, other)
    return {digest: top(digest) for digest in root}


def shared_groups_text(parts: Mapping[str, Sequence[str] | None]) -> str:
    """Say which groups have samples in several of the parts that the data themselves have; empty where none.

    Parameters
    ----------
    parts : mapping of split to sequence of str or None
        The group of each sample.
    """
    where: dict[str, list[str]] = {}
    for part, groups in parts.items():
        for group in set(groups or ()):
            where.setdefault(group, []).append(part)
    torn = sorted(group for group, found in where.items() if len(found) > 1)
    if not torn:
        return ""
    places = " and ".join(where[torn[0]])
    return (
        f"{counted(len(torn), 'group')} in several parts of the data ({few(list(map(repr, torn)))}; the first in "
        f"{places}): give all samples of a group to one part."
    )
