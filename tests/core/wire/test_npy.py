"""Vectors in numpy's file format: the bytes of numpy itself, read without a copy, and nothing else is read."""

from io import BytesIO

import numpy as np
import pytest
from flwr.app import Array

from pfedgp_core.errors import DataError
from pfedgp_core.wire.npy import from_npy, to_npy

VECTORS = [
    np.arange(7, dtype=np.float32),
    np.arange(12, dtype=np.float64)[::2],
    np.zeros(0, np.float32),
    np.arange(5, dtype=np.uint8),
]


@pytest.mark.parametrize("vector", VECTORS)
def test_the_bytes_are_those_of_flower(vector: np.ndarray) -> None:
    assert to_npy(vector) == Array(vector).data


@pytest.mark.parametrize("vector", [*VECTORS, np.ones((2, 3)), np.asfortranarray(np.eye(3)), np.array(2.0)])
def test_what_numpy_has_saved_is_read_without_a_copy(vector: np.ndarray) -> None:
    saved = BytesIO()
    np.save(saved, vector)
    data = saved.getvalue()
    read = from_npy(data)
    np.testing.assert_array_equal(read, vector)
    assert read.dtype == vector.dtype
    assert not read.flags.writeable
    assert read.size == 0 or np.shares_memory(read, np.frombuffer(data, np.uint8))


def saved(value: object) -> bytes:
    stream = BytesIO()
    np.save(stream, value, allow_pickle=True)  # type: ignore[arg-type]
    return stream.getvalue()


def archive() -> bytes:
    stream = BytesIO()
    np.savez(stream, a=np.ones(3))
    return stream.getvalue()


WHOLE = to_npy(VECTORS[0])


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"x", WHOLE[:6], WHOLE[:40], WHOLE[:-1], WHOLE[:128], archive(), saved(np.array([{}], dtype=object))),
        *(
            WHOLE.replace(b"\x01\x00v", b"\x03\x00v"),
            WHOLE.replace(b"(7,)", b"(-7,)"),
            WHOLE.replace(b"(7,)", b"(9e9,)"),
        ),
        *(WHOLE.replace(b"(7,), }", b"(9999999999999999999999,), }"), WHOLE.replace(b"<f4", b"O")),
        *(WHOLE + b"x", WHOLE + bytes(4), WHOLE.replace(b"(7,), }", b"(-1,),}"), WHOLE.replace(b"(7,), }", b"(0,), }")),
    ],
)
def test_anything_else_is_one_error(data: bytes) -> None:
    with pytest.raises(DataError, match=r"^(\w+Error|it holds objects|it has not as many values as it says)$"):
        from_npy(data)
