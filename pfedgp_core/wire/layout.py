"""The layout of a message: packing a record's fields and the shared vector in one flat group, and unpacking them.

What a message costs a deployment is the number of its parts more than their bytes, because each is stored, named by its
hash and fetched by itself. So all of a message is one group of texts, numbers and bytes: the config group, the metrics
as one JSON text, and the vector as one value of little-endian float32, or a client's update as it was encoded. What has
more than `PACKED_LIMIT` bytes stays a part of its own, which Flower sends in pieces and without further copies.

Reading trusts nothing: whatever is not as it should be is a DataError with a reason for the log.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from pfedgp_core.errors import DataError, NonFiniteError
from pfedgp_core.files.json_file import parse_object
from pfedgp_core.files.regular import MalformedError
from pfedgp_core.wire.encodings import Encoded
from pfedgp_core.wire.names import METRICS, SHARED, Fields

__all__ = ["FLOAT32", "PACKED_LIMIT", "SHARED_TYPE", "fits", "pack", "unpack", "unpack_update", "unpack_vector"]

PACKED_LIMIT = 4 * 1024 * 1024  # bytes; below the size from which Flower cuts arrays into pieces
SHARED_TYPE, FLOAT32 = "shared_type", "<f4"
METRICS_LIMIT = 16 * 1024 * 1024  # characters: the class confusion of 2000 classes


def fits(vector: np.ndarray | Encoded) -> bool:
    """Whether a vector, or an encoded update, travels in the one group of its message."""
    return vector.nbytes <= PACKED_LIMIT


def pack(config: Mapping[str, Any], metrics: Mapping[str, Any], vector: np.ndarray | Encoded | None = None) -> Fields:
    """Return the one group of a message.

    Parameters
    ----------
    config : mapping
        Texts and numbers.
    metrics : mapping
        Numbers and lists of numbers.
    vector : float32 array [P] or Encoded, optional
        One that `fits`.

    Raises
    ------
    NonFiniteError
        A metric is NaN or infinite.
    """
    fields = dict(config)
    if metrics:
        try:
            fields[METRICS] = json.dumps(metrics, allow_nan=False, separators=(",", ":"))
        except ValueError:
            raise NonFiniteError("A metric is NaN or infinite, so nothing is sent.") from None
    if isinstance(vector, Encoded):
        fields |= {SHARED: vector.data, SHARED_TYPE: vector.encoding}
    elif vector is not None:
        fields |= {SHARED: np.asarray(vector, dtype=FLOAT32).tobytes(), SHARED_TYPE: FLOAT32}
    return fields


def unpack(fields: Mapping[str, Any]) -> tuple[Fields, Fields]:
    """Return the config and the metrics that `pack` put together; DataError where the metrics are malformed."""
    config = {key: value for key, value in fields.items() if key not in (METRICS, SHARED, SHARED_TYPE)}
    return config, _metrics(fields[METRICS]) if METRICS in fields else {}


def unpack_vector(fields: Mapping[str, Any]) -> np.ndarray | None:
    """Return the vector that `pack` was given, read-only float32 [P]; None where there was none.

    Raises
    ------
    DataError
        It is no vector, or not one of float32. Its length and values are the caller's to check.
    """
    if SHARED not in fields:
        return None
    data, kind = fields[SHARED], fields.get(SHARED_TYPE)
    if not isinstance(data, bytes) or not isinstance(kind, str):
        raise DataError("the shared vector cannot be read")
    if kind != FLOAT32:
        raise DataError(f"the shared vector is {kind[:20]!r}, not float32")
    if len(data) % 4:
        raise DataError(f"the shared vector cannot be read ({len(data)} bytes)")
    return np.frombuffer(data, dtype=FLOAT32).astype(np.float32, copy=False)


def unpack_update(fields: Mapping[str, Any]) -> Encoded | None:
    """Return the encoded update that `pack` was given; None where there was none, DataError where it is none."""
    if SHARED not in fields:
        return None
    data, kind = fields[SHARED], fields.get(SHARED_TYPE)
    if not isinstance(data, bytes) or not isinstance(kind, str):
        raise DataError("the update cannot be read")
    return Encoded(kind, data)


def _metrics(text: Any) -> Fields:
    if not isinstance(text, str) or len(text) > METRICS_LIMIT:
        raise DataError("the metrics are no text or over-long")
    try:
        metrics = parse_object(text)
    except MalformedError as error:
        raise DataError(f"malformed metrics ({error})") from None
    for key, value in metrics.items():
        if not _are_numbers(value if isinstance(value, list) else [value]):
            raise DataError(f"field {key[:60]!r} is not a finite number or a list of them")
    return metrics


def _are_numbers(values: list[Any]) -> bool:
    """Whether all are finite floats or integers of 64 bits; texts of JSON may hold more digits than any float."""
    if not set(map(type, values)) <= {int, float}:
        return False
    integers, floats = ([x for x in values if type(x) is kind] for kind in (int, float))
    within = min(integers, default=0) >= -(2**63) and max(integers, default=0) < 2**63
    return within and all(map(math.isfinite, floats))
