"""The file of a site's split: digests of samples and hashes of groups by part, under a checksum."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pfedgp_core.checks import MALFORMED, text
from pfedgp_core.errors import ArtefactError, DamagedStateError, MissingFileError, UnreadableFileError
from pfedgp_core.files.json_file import read_object
from pfedgp_core.files.whole import write_whole

__all__ = ["PARTS", "SCHEMA", "KeptSplit", "read_split", "write_split"]

SCHEMA = 2  # 1 is without groups, and is written where there are none
FORMAT = "pfedgp-split"
PARTS = ("train", "validation", "test")
LARGEST = 1024**3  # bytes of the file, for more than 10^7 samples


@dataclass(frozen=True)
class KeptSplit:
    """The parts of samples and groups.

    Attributes
    ----------
    samples : dict of str to str
        Part by digest.
    groups : dict of str to str
        Part by the hash of a group's name.
    """

    samples: dict[str, str] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)


def write_split(file: Path, split: KeptSplit) -> None:
    """Write the file whole; ArtefactError where it cannot be written."""
    content = {"samples": _by_part(split.samples)}
    if split.groups:
        content["groups"] = _by_part(split.groups)
    schema = 2 if split.groups else 1
    about = {"format": FORMAT, "schema_version": schema, "sha256": _checksum(content, schema), **content}
    write_whole(file, json.dumps(about, indent=0) + "\n")


def read_split(file: Path) -> KeptSplit:
    """What the file holds; nothing where there is none yet.

    Raises
    ------
    ArtefactError
        It is damaged, or of a later version.
    """
    try:
        about = read_object(file, LARGEST)
    except MissingFileError:
        return KeptSplit()
    except UnreadableFileError as error:
        raise _damaged(file, error.reason) from error
    if about.get("format") != FORMAT:
        raise _damaged(file, "it holds something else than a split")
    schema: Any = about.get("schema_version")
    if isinstance(schema, int) and schema > SCHEMA:
        raise ArtefactError(
            f"The split {file} has schema version {schema}, and this version of pFedGP reads up to {SCHEMA}: update "
            "pFedGP."
        )
    if schema not in range(1, SCHEMA + 1):
        raise _damaged(file, "its version is none")
    keys = ("samples", "groups") if schema == SCHEMA else ("samples",)
    try:
        content = {key: {part: list(map(text, about[key][part])) for part in PARTS} for key in keys}
    except MALFORMED as error:
        raise _damaged(file, "a part is missing") from error
    if about.get("sha256") != _checksum(content, int(schema)):
        raise _damaged(file, "it was changed after it was written")
    found = {key: {name: part for part, own in parts.items() for name in own} for key, parts in content.items()}
    return KeptSplit(**found)


def _by_part(assigned: Mapping[str, str]) -> dict[str, list[str]]:
    return {part: sorted(name for name, own in assigned.items() if own == part) for part in PARTS}


def _checksum(content: Mapping[str, Any], schema: int) -> str:
    checked = content["samples"] if schema == 1 else content
    return hashlib.sha256(json.dumps(checked, sort_keys=True).encode()).hexdigest()


def _damaged(file: Path, reason: str) -> DamagedStateError:
    return DamagedStateError(
        f"The split of this site's data, {file}, is damaged ({reason}): restore it from a copy; only if there is none, "
        "delete it to have a new one drawn, after which models that have seen the former training data must not be "
        "tested here."
    )
