"""What a reply consists of: the parts and fields that each kind may have, and the vector or the change in it."""

import numpy as np
from flwr.app import RecordDict

from pfedgp_core.errors import PolicyError
from pfedgp_core.wire.encodings import FLOAT16, INT8, decode_update
from pfedgp_core.wire.layout import FLOAT32 as PLAIN
from pfedgp_core.wire.layout import SHARED_TYPE, unpack_update, unpack_vector
from pfedgp_core.wire.names import (
    ARRAYS,
    CLIENT,
    CONFIG,
    EVALUATE,
    HELLO,
    METRICS,
    NOTICE,
    ONBOARD,
    ONBOARDED,
    SHARED,
    SPLIT,
    STATUS,
    TRAIN,
)
from pfedgp_core.wire.npy import vector_of
from pfedgp_core.wire.replies import RIDING, RIDING_ERROR

__all__ = ["check_parts", "leaving_change", "vector_in"]

_FIELDS = {
    HELLO: {"hello"},
    TRAIN: {CLIENT, STATUS, METRICS, SHARED, SHARED_TYPE, RIDING + CLIENT, RIDING + SPLIT, RIDING_ERROR},
    EVALUATE: {CLIENT, SPLIT, METRICS},
    ONBOARD: {ONBOARDED},
    NOTICE: set(),
}


def check_parts(kind: str, content: RecordDict) -> None:
    """Raise PolicyError for a part or a field that no reply of this kind has."""
    parts = {CONFIG, ARRAYS} if kind == TRAIN else {CONFIG}
    if others := set(content) - parts:
        raise PolicyError(f"The reply has a part {sorted(map(str, others))[0][:40]!r}: nothing leaves.")
    if CONFIG not in content.config_records:
        if kind != NOTICE:
            raise PolicyError("The reply has no fields: nothing leaves.")
        return
    if others := set(content.config_records[CONFIG]) - _FIELDS[kind]:
        raise PolicyError(f"The reply has a field {sorted(others)[0][:40]!r}: nothing leaves.")
    if ARRAYS in content and (set(content.array_records[ARRAYS]) != {SHARED} or SHARED in content[CONFIG]):
        raise PolicyError("The reply has other arrays than an update: nothing leaves.")


def vector_in(content: RecordDict) -> np.ndarray | None:
    """The shared vector of a message, from its own part or from the fields; None where there is none."""
    arrays = content.array_records.get(ARRAYS)
    if arrays is None:
        return unpack_vector(content.config_records[CONFIG])
    values = vector_of(arrays[SHARED])
    if values.dtype.kind not in "fu":
        raise PolicyError("The message carries no vector.")
    return values


def leaving_change(content: RecordDict, encoding: str, sent: np.ndarray | None) -> tuple[np.ndarray | None, bool]:
    """What a reply to a train request carries beside its fields.

    Parameters
    ----------
    content : RecordDict
    encoding : str
        The run's ``update-encoding``; a vector that is not encoded is taken under any.
    sent : float32 array [P], optional
        What the server sent.

    Returns
    -------
    float array [P] or None
    bool
        Whether it is the change itself, and not the vector after it.

    Raises
    ------
    PolicyError, DataError
        It is encoded otherwise, or its bytes are not those of so many values.
    """
    if ARRAYS in content:
        values = vector_in(content)
        if values is None or values.dtype.kind == "f":
            return values, False
        data = values.tobytes()
    else:
        update = unpack_update(content.config_records[CONFIG])
        if update is None or update.encoding == PLAIN:
            return vector_in(content), False
        if update.encoding != encoding:
            raise PolicyError(f"The update is encoded as {update.encoding[:20]!r}, and the run asks for {encoding}.")
        data = update.data
    if sent is None or encoding not in (FLOAT16, INT8):
        raise PolicyError("The update is encoded, which the request did not ask for: nothing leaves.")
    return decode_update(data, encoding, sent.size), True
