"""Groups of samples, such as those of a patient or the slices of a volume: what belongs together stays together.

A group is known by a hash of its name: the site's split file and its classifier hold no name of a patient. Exports
write one name in several ways (``P7``, ``p07``; ``7``, ``7.0``), and these are one group: two that are kept together
without need cost nothing, and one that is torn makes every measure too good.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from pfedgp_core.data.tables.cells import MISSING
from pfedgp_core.names import folded
from pfedgp_core.words import counted, few

__all__ = [
    "former_group_hashes",
    "group_hashes",
    "group_key",
    "group_name",
    "group_notes",
    "group_numbers",
    "shared_groups_text",
    "units_of",
]

_WHOLE = re.compile(r"([0-9]+)\.0*", re.ASCII)
_ZEROS = re.compile(r"(?<![0-9.])0+(?=[0-9])", re.ASCII)
_NUMBER = re.compile(r"[0-9]+", re.ASCII)


def group_name(text: str) -> str:
    """The name of a group as data have it; empty where it is a gap, as ``NA`` is."""
    text = text.strip()
    return "" if text.lower() in MISSING else text


def group_key(name: str) -> str:
    """What all ways of writing the name of a group have in common.

    Case, blanks, zeros before a number, and the decimals of a whole number do not count.

    Examples
    --------
    >>> group_key("P 07"), group_key("p7"), group_key("7.0"), group_key("1.05")
    ('p7', 'p7', '7', '1.05')
    """
    plain = "".join(folded(name).split())
    whole = _WHOLE.fullmatch(plain)
    return _ZEROS.sub("", whole[1] if whole else plain)


def group_hashes(groups: Sequence[str]) -> list[str]:
    """Hex hashes of the names of groups, length N; one for all ways of writing a name."""
    known = {name: _hash(group_key(name)) for name in set(groups)}
    return [known[name] for name in groups]


def group_numbers(groups: Sequence[str]) -> np.ndarray:
    """The number of each sample's group, int64 [N], in the order in which groups appear; an empty text is none.

    A sample without a group is one by itself.
    """
    known: dict[str, int] = {}
    numbers = [known.setdefault(name or f"\0{i}", len(known)) for i, name in enumerate(groups)]
    return np.array(numbers, dtype=np.int64)


def former_group_hashes(groups: Sequence[str]) -> list[str]:
    """The hashes that a former version kept, of the names as they are written."""
    known = {name: _hash(name) for name in set(groups)}
    return [known[name] for name in groups]


def _hash(text: str) -> str:
    return hashlib.sha256(b"pfedgp-group\0" + text.encode()).hexdigest()


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
    for digest, group in zip(digests, _keys(groups or ()), strict=False):
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
    where: dict[str, dict[str, None]] = {}
    written: dict[str, str] = {}
    for part, groups in parts.items():
        for group, key in sorted({*zip(groups or (), _keys(groups or ()), strict=True)}):
            where.setdefault(key, {})[part] = None
            written.setdefault(key, group)
    torn = sorted(written[key] for key, found in where.items() if len(found) > 1)
    if not torn:
        return ""
    places = " and ".join(where[group_key(torn[0])])
    return (
        f"{counted(len(torn), 'group')} in several parts of the data ({few(list(map(repr, torn)))}; the first in "
        f"{places}): give all samples of a group to one part."
    )


def group_notes(groups: Iterable[str]) -> list[str]:
    """Sentences on a site's groups: how many, and which of them are written in several ways, or may be one.

    Parameters
    ----------
    groups : iterable of str
        The group of each sample.
    """
    written: dict[str, list[str]] = {}
    for name in sorted(set(groups)):
        written.setdefault(group_key(name), []).append(name)
    notes = [f"{counted(len(written), 'group')} of samples, each of which stays in one split as a whole."]
    if several := [" and ".join(map(repr, names[:3])) for names in written.values() if len(names) > 1]:
        notes.append(f"Groups written in several ways, each taken as one: {few(several)}.")
    numbers = {key: names[0] for key, names in written.items() if _NUMBER.fullmatch(key)}
    doubtful = [
        f"{numbers[found[0]]!r} and {names[0]!r}"
        for key, names in written.items()
        if key not in numbers and len(found := _NUMBER.findall(key)) == 1 and found[0] in numbers
    ]
    if doubtful:
        notes.append(
            f"Groups that may be the same and are taken as two: {few(doubtful)}; write all names in one way, or "
            "samples of one group fall into different splits."
        )
    return notes


def _keys(groups: Sequence[str]) -> list[str]:
    known = {name: group_key(name) for name in set(groups)}
    return [known[name] for name in groups]
