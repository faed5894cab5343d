"""The layout of a message: what goes in comes out to the bit, and nothing else is taken."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from pfedgp_core.errors import DataError, NonFiniteError
from pfedgp_core.wire.layout import METRICS_LIMIT, PACKED_LIMIT, SHARED_TYPE, fits, pack, unpack, unpack_vector
from pfedgp_core.wire.names import METRICS, SHARED

NUMBERS = st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False))
KEYS = st.text(max_size=8)


@given(st.dictionaries(KEYS, st.one_of(NUMBERS, st.lists(NUMBERS, max_size=4)), max_size=5))
def test_metrics_come_back_to_the_bit(metrics: dict) -> None:
    config, got = unpack(pack({"client": "a", "round": 3}, metrics))
    assert (config, got) == ({"client": "a", "round": 3}, metrics)
    assert repr(got) == repr(metrics)  # 1 and 1.0, 0.0 and -0.0 are not the same


@given(npst.arrays(np.float32, st.integers(0, 20), elements=st.floats(width=32)))
def test_vectors_come_back_to_the_bit(vector: np.ndarray) -> None:
    fields = pack({}, {}, vector)
    assert all(isinstance(value, bytes | str) for value in fields.values())
    got = unpack_vector(fields)
    assert got is not None
    assert got.dtype == np.float32
    assert got.tobytes() == vector.tobytes()
    assert unpack(fields) == ({}, {})


def test_no_vector_is_none() -> None:
    assert unpack_vector(pack({"client": "a"}, {"n": 1})) is None


def test_reading_a_vector_copies_nothing() -> None:
    fields = pack({}, {}, np.arange(1000, dtype=np.float32))
    got = unpack_vector(fields)
    assert got is not None
    assert np.shares_memory(got, np.frombuffer(fields[SHARED], dtype=np.uint8))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [1.0, -float("inf")]])
def test_what_is_not_finite_is_not_sent(value: object) -> None:
    with pytest.raises(NonFiniteError):
        pack({}, {"loss": value})


@pytest.mark.parametrize(
    "text",
    [
        *(None, 3, b"{}", "", "{", "[]", "3", '"x"', "null"),
        *('{"a": NaN}', '{"a": Infinity}', '{"a": -Infinity}', '{"a": 1e999}', '{"a": [1, NaN]}'),
        *('{"a": true}', '{"a": null}', '{"a": "1"}', '{"a": {"b": 1}}', '{"a": [[1]]}', '{"a": [true]}'),
        *('{"a": 9223372036854775808}', '{"a": ' + "9" * 5000 + "}", "[" * 100_000),
        '{"a": 1}' + " " * METRICS_LIMIT,
    ],
)
def test_malformed_metrics_are_refused(text: object) -> None:
    with pytest.raises(DataError, match=r"metrics|finite number"):
        unpack({METRICS: text})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({SHARED: "text"}, "cannot be read"),
        ({SHARED: [1.0, 2.0]}, "cannot be read"),
        ({SHARED: b"12345"}, "cannot be read"),
        ({SHARED_TYPE: "<f8"}, "'<f8', not float32"),
        ({SHARED_TYPE: ">f4"}, "'>f4', not float32"),
        ({SHARED_TYPE: 4}, "cannot be read"),
    ],
)
def test_what_is_no_vector_of_float32_is_refused(changes: dict, words: str) -> None:
    with pytest.raises(DataError, match=words):
        unpack_vector(pack({}, {}, np.ones(4, dtype=np.float32)) | changes)
    with pytest.raises(DataError, match="cannot be read"):
        unpack_vector({SHARED: b"1234"})


def test_only_short_vectors_join_the_other_fields() -> None:
    assert fits(np.zeros(PACKED_LIMIT // 4, dtype=np.float32))
    assert not fits(np.zeros(PACKED_LIMIT // 4 + 1, dtype=np.float32))


def test_metrics_stay_readable_text() -> None:
    assert json.loads(pack({}, {"n": 1, "x": [0.5]})[METRICS]) == {"n": 1, "x": [0.5]}
