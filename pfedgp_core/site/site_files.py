"""The two files of a saved site: read whole, of a version that is known, as they were written."""

import hashlib
import json
from pathlib import Path
from typing import Any

from pfedgp_core.errors import ArtefactError, DamagedStateError, MissingFileError, UnreadableFileError
from pfedgp_core.files.json_file import parse_object
from pfedgp_core.files.regular import MalformedError, read_regular

__all__ = [
    "DESCRIPTION",
    "FORMAT",
    "LARGEST",
    "SCHEMA",
    "TENSORS",
    "checksum",
    "damaged",
    "read_description",
    "read_part",
]

SCHEMA = 1
FORMAT = "pfedgp-site"
TENSORS, DESCRIPTION = "site.safetensors", "site.json"
LARGEST = 16 * 1024**3  # bytes of a file


def read_part(path: Path, name: str) -> bytes:
    """One of the files of a site.

    Raises
    ------
    ArtefactError
        There is no site, or none that is whole.
    DamagedStateError
        It cannot be read.
    """
    try:
        return read_regular(path / name, LARGEST)
    except MissingFileError as error:
        if not path.is_dir():
            raise ArtefactError(f"There is no site at {path}: make one with pfedgp onboard.") from error
        raise ArtefactError(f"{path} is no complete site, {name} is missing: make one with pfedgp onboard.") from error
    except UnreadableFileError as error:
        raise DamagedStateError(
            f"Cannot read {path / name} ({error.reason}): check the path and its rights, or restore it from a copy."
        ) from error


def read_description(path: Path, content: bytes) -> dict[str, Any]:
    """What `DESCRIPTION` holds, without its checksum; its fields are not checked.

    Raises
    ------
    ArtefactError
        It is none of a site, or of a later version.
    DamagedStateError
        It was changed after it was written.
    """
    try:
        about = parse_object(content)
    except MalformedError as error:
        raise damaged(path, f"{DESCRIPTION}: {error}") from error
    if about.get("format") != FORMAT:
        raise ArtefactError(f"{path} was not written by pfedgp onboard: give the folder of a site.")
    schema = about.get("schema_version")
    if isinstance(schema, int) and schema > SCHEMA:
        raise ArtefactError(
            f"The site at {path} has schema version {schema}, and this version of pFedGP reads up to {SCHEMA}: update "
            "pFedGP."
        )
    if about.pop("checksum", None) != checksum(about) or schema != SCHEMA:
        raise damaged(path, f"{DESCRIPTION} was changed after it was written")
    return about


def checksum(description: dict[str, Any]) -> str:
    """Hash of a description without its checksum, hex."""
    return hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()


def damaged(path: Path, reason: str) -> DamagedStateError:
    """The error for a site that is not as it was written."""
    return DamagedStateError(
        f"The site at {path} is damaged ({reason}): restore it from a copy, or make it again with pfedgp onboard into "
        "another folder."
    )
