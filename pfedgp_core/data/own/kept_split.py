"""The split of a site's own data into training, validation and test: drawn once, kept in a file, never moved.

A sample is known by the digest of its input, so neither file names nor their order matter, and equal inputs always
share a part: none of them is trained on and tested with. The same holds for samples of one group, such as a patient.
Samples that come later are added; a class keeps its 60, 20 and 20 percent as well as whole groups allow, the first
sample of each goes to training. Without a file the same rule decides from the digests alone, and data that grow may
move samples from one part to another.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from pfedgp_core.data.own.groups import former_group_hashes, group_hashes, units_of
from pfedgp_core.data.own.split_file import PARTS, KeptSplit, read_split, write_split
from pfedgp_core.errors import DataError
from pfedgp_core.words import cut

__all__ = ["PARTS", "assign_parts", "keep_split", "rows_by_part"]

SHARES = (0.6, 0.2, 0.2)


def keep_split(
    file: Path,
    digests: Sequence[str],
    classes: Sequence[str],
    former: Callable[[], Sequence[str]] | None = None,
    groups: Sequence[str] | None = None,
) -> list[str]:
    """The part of every sample, as the file has it; what the file does not know yet is assigned and added to it.

    Parameters
    ----------
    file : Path
        Made where it is missing.
    digests : sequence of str, length N
        Hex digests of the inputs.
    classes : sequence of str, length N
    former : callable, optional
        Gives the digests under which a former version kept the same samples; these stay where they were.
    groups : sequence of str, length N, optional
        Names of what each sample belongs to.

    Raises
    ------
    ArtefactError
        The file is damaged, of a later version, or cannot be written; it is never drawn anew silently.
    DataError
        A group has samples in several parts of the file.
    """
    kept = read_split(file)
    known = dict(kept.samples)
    if former is not None and known and not known.keys() >= set(digests):
        new = zip(digests, former(), strict=True)
        known |= {digest: known[old] for digest, old in new if old in kept.samples and digest not in kept.samples}
    parts = assign_parts(digests, classes, known, groups, kept.groups, file)
    hashes = [] if groups is None else group_hashes(groups)
    assigned = KeptSplit(
        known | dict(zip(digests, parts, strict=True)), kept.groups | dict(zip(hashes, parts, strict=False))
    )
    if len(assigned.samples) > len(kept.samples) or len(assigned.groups) > len(kept.groups):
        write_split(file, assigned)
    return parts


def assign_parts(
    digests: Sequence[str],
    classes: Sequence[str],
    known: Mapping[str, str] | None = None,
    groups: Sequence[str] | None = None,
    known_groups: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> list[str]:
    """The part of every sample; decided by the known ones, the digests and the classes, in whatever order they come.

    Parameters
    ----------
    digests, classes : sequences of str, length N
    known : mapping of digest to part, optional
        Stay where they are.
    groups : sequence of str, length N, optional
    known_groups : mapping of a group's hash to part, optional
        Stay where they are.
    file : Path, optional
        That holds the known ones.

    Raises
    ------
    DataError
        A group has known samples in several parts.
    """
    stratum: dict[str, str] = {}
    for digest, name in zip(digests, classes, strict=True):
        stratum[digest] = min(name, stratum.get(digest, name))  # of contradicting labels any, but always the same
    parts = {digest: part for digest, part in (known or {}).items() if digest in stratum}
    unit = units_of(digests, groups)
    whole: dict[str, list[str]] = {}
    for digest in stratum:
        whole.setdefault(unit[digest], []).append(digest)
    fixed = {} if groups is None else _fixed(digests, groups, parts, unit, known_groups or {}, file)
    held: dict[str, Counter[str]] = {name: Counter() for name in stratum.values()}
    waiting: list[str] = []
    for name, members in whole.items():
        if (known_part := fixed.get(name) or parts.get(name)) is None:
            waiting.append(name)
            continue
        for digest in members:
            parts[digest] = known_part
            held[stratum[digest]][known_part] += 1
    for name in sorted(waiting, key=lambda name: (-len(whole[name]), name)):
        most = _lacking(Counter(stratum[digest] for digest in whole[name]), held)
        for digest in whole[name]:
            parts[digest] = most
            held[stratum[digest]][most] += 1
    return [parts[digest] for digest in digests]


def _lacking(own: Mapping[str, int], held: Mapping[str, Counter[str]]) -> str:
    """The part that lacks most of its share of these classes; the first of equals, so a class begins in training."""
    lacking = [
        sum(n * (share * (held[name].total() + n) - held[name][part]) for name, n in own.items())
        for part, share in zip(PARTS, SHARES, strict=True)
    ]
    return PARTS[int(np.argmax(np.round(lacking, 9)))]


def _fixed(
    digests: Sequence[str],
    groups: Sequence[str],
    parts: Mapping[str, str],
    unit: Mapping[str, str],
    known_groups: Mapping[str, str],
    file: Path | None,
) -> dict[str, str]:
    """The part of every unit of which something is known; DataError where that is in several."""
    fixed: dict[str, str] = {}
    hashes = zip(group_hashes(groups), former_group_hashes(groups), strict=True)
    for digest, group, (hashed, former) in zip(digests, groups, hashes, strict=True):
        for part in (parts.get(digest), known_groups.get(hashed), known_groups.get(former)):
            if part is not None and fixed.setdefault(unit[digest], part) != part:
                where = sorted({part, fixed[unit[digest]]})
                raise DataError(
                    f"The group {cut(group, 60)!r} has samples, or copies of samples of other groups, in {where[0]} "
                    f"and {where[1]} of the kept split {file}, which was drawn without them: remove the copies, or "
                    "move the file away to have a new split drawn, after which models that have seen the former "
                    "training data must not be tested here."
                )
    return fixed


def rows_by_part(parts: Sequence[str]) -> dict[str, np.ndarray]:
    """Rows of each part, int64 and ascending."""
    of = np.array(parts, dtype=object)
    return {part: np.flatnonzero(of == part) for part in PARTS}
