"""Updates in fewer bytes: half of them as float16, a quarter as int8 with a scale for each block of values.

An encoded update is of a known size before it is decoded, which is checked first, so that no text of a few bytes can
become a large vector::

    float16: [scale]            then P values of 2 bytes, in units of the scale, the power of 2 above the largest
    int8:    [ceil(P / BLOCK)]  scales, then P values of 1 byte, in units of 1/127 of the scale of their block

Scales are float32. All numbers are little-endian. What int8 leaves out is the sender's to add to its next update (error
feedback, see `client.residuals`).
"""

import math
from typing import NamedTuple

import numpy as np

from pfedgp_core.errors import DataError

__all__ = ["BLOCK", "FLOAT16", "FLOAT32", "INT8", "Encoded", "decode_update", "encode_update", "encoded_bytes"]

FLOAT32, FLOAT16, INT8 = "float32", "float16", "int8"  # of the setting update-encoding
BLOCK = 1024  # values with one scale
LEVELS, LARGEST = 127, 127  # of an int8; exponent of a float32


class Encoded(NamedTuple):
    """An update on its way: its encoding and its bytes."""

    encoding: str
    data: bytes

    @property
    def nbytes(self) -> int:
        """How many bytes it has."""
        return len(self.data)


def encode_update(update: np.ndarray, encoding: str) -> Encoded:
    """Encode an update.

    Parameters
    ----------
    update : finite float32 array [P]
    encoding : str
        ``float16`` or ``int8``.
    """
    if encoding == FLOAT16:
        largest = float(np.abs(update).max(initial=0.0))
        scale = np.float32(2.0 ** min(LARGEST, math.ceil(math.log2(largest))) if largest else 1.0)
        return Encoded(encoding, scale.astype("<f4").tobytes() + (update / scale).astype("<f2").tobytes())
    blocks = _blocks(update)
    scales = np.abs(blocks).max(axis=1).astype(np.float32)
    units = np.divide(LEVELS, scales, out=np.zeros_like(scales), where=scales > 0)
    values = np.rint(blocks * units[:, None]).astype(np.int8).reshape(-1)[: update.size]
    return Encoded(encoding, scales.astype("<f4").tobytes() + values.tobytes())


def decode_update(data: bytes, encoding: str, size: int) -> np.ndarray:
    """The update in the bytes, float32 [size]; its values are the caller's to check.

    Raises
    ------
    DataError
        The bytes are not those of so many values, or a scale is none. The text is the reason alone.
    """
    if len(data) != encoded_bytes(encoding, size):
        raise DataError(f"{len(data)} bytes are no {encoding} update of {size} values")
    count = 1 if encoding == FLOAT16 else _count(size)
    scales = np.frombuffer(data, "<f4", count).astype(np.float32)
    if not (np.isfinite(scales) & (scales >= 0)).all():
        raise DataError(f"the scale of an {encoding} update is no finite number from 0")
    if encoding == FLOAT16:
        units = np.frombuffer(data, "<f2", size, offset=4).astype(np.float32)
        units *= scales[0]
        return units
    values = np.frombuffer(data, np.int8, size, offset=4 * count)
    decoded = _blocks(values.astype(np.float32)) * (scales / np.float32(LEVELS))[:, None]
    result: np.ndarray = decoded.reshape(-1)[:size]
    return result


def encoded_bytes(encoding: str, size: int) -> int:
    """How many bytes an update of so many values has."""
    return 4 + 2 * size if encoding == FLOAT16 else 4 * _count(size) + size


def _count(size: int) -> int:
    return -(-size // BLOCK)


def _blocks(values: np.ndarray) -> np.ndarray:
    """The values [P] as rows of a block each, filled up with zeros."""
    rows = np.zeros(_count(values.size) * BLOCK, np.float32)
    rows[: values.size] = values
    return rows.reshape(-1, BLOCK)
