"""A long vector as the bytes of numpy's file format, which is how Flower's arrays travel, with no copy too many.

Flower writes such bytes through a buffer that grows, and reads them through another: four copies of a model of 45 MB to
send it, and two to take it.
"""

import math
from io import BytesIO
from typing import Any

import numpy as np
from numpy.lib import format as npy

from pfedgp_core.errors import DataError

__all__ = ["array_fields", "from_npy", "to_npy", "vector_of"]

NUMPY = "numpy.ndarray"  # Flower's word for this format
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def array_fields(vector: np.ndarray) -> dict[str, Any]:
    """What Flower's ``Array`` is made of, of a vector [P]."""
    return {"dtype": str(vector.dtype), "shape": tuple(vector.shape), "stype": NUMPY, "data": to_npy(vector)}


def vector_of(array: Any) -> np.ndarray:
    """The values of such an ``Array``, read-only; DataError, whose text is the reason alone, where it has none."""
    if array.stype != NUMPY:
        raise DataError(f"it is written as {str(array.stype)[:20]!r}, not by numpy")
    return from_npy(array.data)


def to_npy(vector: np.ndarray) -> bytes:
    """What ``numpy.save`` writes of an array [P]."""
    values, header = np.ascontiguousarray(vector), BytesIO()
    npy.write_array_header_1_0(header, npy.header_data_from_array_1_0(values))
    return b"".join((header.getvalue(), values.view(np.uint8).data))


def from_npy(data: bytes) -> np.ndarray:
    """What ``numpy.load`` reads of such bytes, which the array shares with them: it is read-only.

    Raises
    ------
    DataError
        They are something else, or not as many as they say. The text is the reason alone.
    """
    stream = BytesIO(data)  # which shares them too
    try:
        shape, by_columns, kind = _HEADERS[npy.read_magic(stream)](stream)
        if kind.hasobject:
            raise DataError("it holds objects")
        count = math.prod(shape)
        if min(shape, default=0) < 0 or stream.tell() + count * kind.itemsize != len(data):
            raise DataError("it has not as many values as it says")
        flat = np.frombuffer(data, kind, count, stream.tell())
        return flat.reshape(shape, order="F" if by_columns else "C")
    except DataError:
        raise
    except Exception as error:  # a header that lies finds errors that no list foresees
        raise DataError(type(error).__name__) from error
