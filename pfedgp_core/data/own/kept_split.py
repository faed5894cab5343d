"""The split of a site's own data into training, validation and test: drawn once, kept in a file, never moved.

A sample is known by the digest of its input, so neither file names nor their order matter, and equal inputs always
share a part: none of them is trained on and tested with. Samples that come later are added; a class keeps its 60, 20
and 20 percent, the first sample of each goes to training. Without a file the same rule decides from the digests alone,
and data that grow may move samples from one part to another.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from pfedgp_core.checks import MALFORMED, text
from pfedgp_core.errors import ArtefactError, DamagedStateError, MissingFileError, UnreadableFileError
from pfedgp_core.files.json_file import read_object
from pfedgp_core.files.whole import write_whole

__all__ = ["PARTS", "SCHEMA", "assign_parts", "keep_split", "rows_by_part"]

SCHEMA = 1
FORMAT = "pfedgp-split"
PARTS = ("train", "validation", "test")
SHARES = (0.6, 0.2, 0.2)
LARGEST = 1024**3  # bytes of the file, for more than 10^7 samples


def keep_split(
    file: Path, digests: Sequence[str], classes: Sequence[str], former: Callable[[], Sequence[str]] | None = None
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

    Raises
    ------
    ArtefactError
        The file is damaged, of a later version, or cannot be written; it is never drawn anew silently.
    """
    kept = _read(file)
    known = dict(kept)
    if former is not None and known and not known.keys() >= set(digests):
        known |= {new: kept[old] for new, old in zip(digests, former(), strict=True) if old in kept and new not in kept}
    parts = assign_parts(digests, classes, known)
    assigned = known | dict(zip(digests, parts, strict=True))
    if len(assigned) > len(kept):
        write_whole(file, _written(assigned))
    return parts


def assign_parts(digests: Sequence[str], classes: Sequence[str], known: Mapping[str, str] | None = None) -> list[str]:
    """The part of every sample; decided by the known ones, the digests and the classes, in whatever order they come.

    Parameters
    ----------
    digests, classes : sequences of str, length N
    known : mapping of digest to part, optional
        Stay where they are.
    """
    stratum: dict[str, str] = {}
    for digest, name in zip(digests, classes, strict=True):
        stratum[digest] = min(name, stratum.get(digest, name))  # of contradicting labels any, but always the same
    parts = {digest: part for digest, part in (known or {}).items() if digest in stratum}
    held: dict[str, Counter[str]] = {name: Counter() for name in stratum.values()}
    for digest, part in parts.items():
        held[stratum[digest]][part] += 1
    for digest in sorted(stratum.keys() - parts.keys()):
        count = held[stratum[digest]]
        total = count.total() + 1
        # The part that lacks most of its share; the first of equals, so a class begins in training.
        lacking = [share * total - count[part] for part, share in zip(PARTS, SHARES, strict=True)]
        parts[digest] = part = PARTS[int(np.argmax(np.round(lacking, 9)))]
        count[part] += 1
    return [parts[digest] for digest in digests]


def rows_by_part(parts: Sequence[str]) -> dict[str, np.ndarray]:
    """Rows of each part, int64 and ascending."""
    of = np.array(parts, dtype=object)
    return {part: np.flatnonzero(of == part) for part in PARTS}


def _written(assigned: Mapping[str, str]) -> str:
    samples = {part: sorted(digest for digest, own in assigned.items() if own == part) for part in PARTS}
    about = {"format": FORMAT, "schema_version": SCHEMA, "sha256": _checksum(samples), "samples": samples}
    return json.dumps(about, indent=0) + "\n"


def _read(file: Path) -> dict[str, str]:
    try:
        about = read_object(file, LARGEST)
    except MissingFileError:
        return {}
    except UnreadableFileError as error:
        raise _damaged(file, error.reason) from error
    if about.get("format") != FORMAT:
        raise _damaged(file, "it holds something else than a split")
    schema = about.get("schema_version")
    if isinstance(schema, int) and schema > SCHEMA:
        raise ArtefactError(
            f"The split {file} has schema version {schema}, and this version of pFedGP reads up to {SCHEMA}: update "
            "pFedGP."
        )
    try:
        samples = {part: list(map(text, about["samples"][part])) for part in PARTS}
    except MALFORMED as error:
        raise _damaged(file, "a part is missing") from error
    if schema != SCHEMA or about.get("sha256") != _checksum(samples):
        raise _damaged(file, "it was changed after it was written")
    return {digest: part for part, own in samples.items() for digest in own}


def _checksum(samples: Mapping[str, Sequence[str]]) -> str:
    return hashlib.sha256(json.dumps(samples, sort_keys=True).encode()).hexdigest()


def _damaged(file: Path, reason: str) -> DamagedStateError:
    return DamagedStateError(
        f"The split of this site's data, {file}, is damaged ({reason}): restore it from a copy; only if there is none, "
        "delete it to have a new one drawn, after which models that have seen the former training data must not be "
        "tested here."
    )
