"""``samples.json`` of a saved site: the origin of each sample, in the order of the site's samples, and the history.

``ids``, ``groups``, ``batches``
    See `origins`.
``history``
    See `history`.
``data_sha256``
    Hash of the samples that they belong to. A former version of pFedGP that changes a site leaves this file as it was;
    the origins are then unknown.
``checksum``
    Hash of the rest, so that a change is noticed.
"""

import json
from pathlib import Path

from pfedgp_core.checks import MALFORMED, count, text
from pfedgp_core.errors import DamagedStateError, MissingFileError, UnreadableFileError
from pfedgp_core.files.json_file import parse_object
from pfedgp_core.files.regular import MalformedError, one_line, read_regular
from pfedgp_core.site.history import Event
from pfedgp_core.site.origins import Origin
from pfedgp_core.site.site_files import LARGEST, checksum, damaged

__all__ = ["LEDGER", "ledger_text", "read_ledger"]

LEDGER = "samples.json"
FORMAT = "pfedgp-site-samples"
SCHEMA = 1


def ledger_text(data_sha256: str, origins: tuple[Origin, ...], history: tuple[Event, ...]) -> bytes:
    """The content of the file."""
    ids, groups, batches = zip(*origins, strict=True)
    content = {
        "format": FORMAT,
        "schema_version": SCHEMA,
        "data_sha256": data_sha256,
        "history": [event.to_dict() for event in history],
        "ids": ids,
        "groups": groups,
        "batches": batches,
    }
    content["checksum"] = checksum(content)
    return (json.dumps(content) + "\n").encode()


def read_ledger(path: Path, data_sha256: str) -> tuple[tuple[Origin, ...], tuple[Event, ...]]:
    """Origins and history of the site at a path; no origins where they are those of other samples or not known.

    Raises
    ------
    DamagedStateError
        The file was changed or cannot be read.
    """
    try:
        about = parse_object(read_regular(path / LEDGER, LARGEST), LARGEST)
        if about.pop("checksum") != checksum(about) or about["schema_version"] != SCHEMA:
            raise MalformedError("it was changed after it was written")
        history = tuple(Event.of(values) for values in about["history"])
        if about["data_sha256"] != data_sha256:
            return (), history
        columns = (about["ids"], about["groups"], about["batches"])
        return tuple(Origin(text(a), text(b), count(c)) for a, b, c in zip(*columns, strict=True)), history
    except MissingFileError:
        return (), ()
    except UnreadableFileError as error:
        raise DamagedStateError(f"Cannot read {path / LEDGER} ({error.reason}): restore it from a copy.") from error
    except MALFORMED as error:
        raise damaged(path, f"{LEDGER}: {one_line(error)}") from error
