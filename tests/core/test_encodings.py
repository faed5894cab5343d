"""Updates as float16 and int8: errors as stated, sizes known before anything is decoded, nothing hostile passes."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfedgp_core.errors import DataError
from pfedgp_core.wire.encodings import BLOCK, FLOAT16, INT8, decode_update, encode_update, encoded_bytes

SHORT = [FLOAT16, INT8]
sizes = pytest.mark.parametrize("size", [1, BLOCK - 1, BLOCK, 3 * BLOCK + 5])
encodings = pytest.mark.parametrize("encoding", SHORT)


def update(size: int, scale: float = 1e-3) -> np.ndarray:
    """An update whose parts differ in size, as those of layers do."""
    rng = np.random.default_rng(size)
    return (scale * rng.normal(size=size) * np.exp(rng.normal(size=size))).astype(np.float32)


def error(encoding: str, values: np.ndarray) -> float:
    decoded = decode_update(encode_update(values, encoding).data, encoding, values.size).astype(np.float64)
    return float(np.linalg.norm(decoded - values) / np.linalg.norm(values.astype(np.float64)))


@pytest.mark.parametrize(("encoding", "most"), [(FLOAT16, 3e-4), (INT8, 6e-2)])
@sizes
def test_the_relative_error_is_as_stated(encoding: str, most: float, size: int) -> None:
    assert error(encoding, update(size)) < most


@encodings
@sizes
def test_the_bytes_are_as_many_as_they_should_be(encoding: str, size: int) -> None:
    assert len(encode_update(update(size), encoding).data) == encoded_bytes(encoding, size)


def test_a_short_encoding_is_half_and_a_quarter() -> None:
    size = 100_000
    assert encoded_bytes(FLOAT16, size) == pytest.approx(2 * size, rel=1e-3)
    assert encoded_bytes(INT8, size) == pytest.approx(size, rel=5e-3)


@encodings
@pytest.mark.parametrize("scale", [1e-30, 1e-3, 1e30])
def test_an_update_of_any_size_keeps_its_precision(encoding: str, scale: float) -> None:
    assert error(encoding, update(5000, scale)) < 6e-2


@encodings
def test_no_update_is_no_update(encoding: str) -> None:
    zeros = np.zeros(2000, np.float32)
    assert not decode_update(encode_update(zeros, encoding).data, encoding, 2000).any()


@encodings
@given(st.binary(max_size=5000), st.integers(1, 4000))
def test_bytes_of_another_length_are_refused_and_all_others_have_the_size(encoding, data, size) -> None:
    if len(data) != encoded_bytes(encoding, size):
        with pytest.raises(DataError, match="bytes are no"):
            decode_update(data, encoding, size)
    else:
        with suppress(DataError):  # a scale that is none
            assert decode_update(data, encoding, size).shape == (size,)


@encodings
@pytest.mark.parametrize("scale", [np.nan, np.inf, -1.0])
def test_a_scale_that_is_none_is_refused(encoding: str, scale: float) -> None:
    data = np.array([scale], "<f4").tobytes() + encode_update(update(10), encoding).data[4:]
    with pytest.raises(DataError, match=f"the scale of an {encoding} update is no finite number from 0"):
        decode_update(data, encoding, 10)


def test_the_bytes_do_not_depend_on_the_machine() -> None:
    assert encode_update(np.array([0.5, -1.0], np.float32), FLOAT16).data.hex() == "0000803f003800bc"
    assert encode_update(np.array([0.5, -1.0], np.float32), INT8).data.hex() == "0000803f4081"
