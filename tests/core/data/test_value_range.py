"""Ranges of images' values: what values tell of their range, and which of them can be some of a known one."""

import numpy as np
import pytest

from pfedgp_core.data.value_range import BYTES, OPEN, UNIT, WORDS, extent_of, in_numbers, joined_inputs

ARRAYS = {
    "bytes": np.array([0, 255], np.uint8),
    "dark bytes": np.array([0, 1], np.uint8),
    "16 bits": np.array([600, 3300], np.uint16),
    "dark 16 bits": np.array([0, 9], np.uint16),
    "bytes as int64": np.array([0, 200]),
    "12 bits as int16": np.array([0, 4000], np.int16),
    "Hounsfield": np.array([-1024, 1016], np.int16),
    "bone": np.array([300, 900], np.int16),
    "shares": np.array([0.0, 0.3, 1.0], np.float32),
    "bytes as float": np.array([0.0, 17.0, 255.0]),
    "resized bytes": np.array([0.5, 250.25]),
    "resized 16 bits": np.array([600.5, 3300.25]),
    "reflectance": np.array([-0.04, 0.45]),
    "black": np.zeros(2),
    "mask": np.array([False, True]),
}
GUESSES = {
    "bytes": BYTES,
    "dark bytes": BYTES,
    "16 bits": WORDS,
    "dark 16 bits": WORDS,
    "bytes as int64": BYTES,
    "12 bits as int16": WORDS,
    "Hounsfield": OPEN,
    "bone": WORDS,
    "shares": UNIT,
    "bytes as float": BYTES,
    "resized bytes": BYTES,
    "resized 16 bits": OPEN,
    "reflectance": OPEN,
    "black": UNIT,
    "mask": UNIT,
}
# What a model of the range may be given, beside what would be guessed as its range.
PARTS = {
    BYTES: {"black"},
    UNIT: set(),
    WORDS: {"black", "resized 16 bits"},
    OPEN: {"black", "bone", "12 bits as int16", "shares", "resized bytes"},
}


@pytest.mark.parametrize("name", ARRAYS)
def test_the_range_that_values_tell(name: str) -> None:
    assert extent_of(ARRAYS[name]).guess() == GUESSES[name]


@pytest.mark.parametrize("known", PARTS)
def test_values_that_can_be_some_of_a_known_range(known: str) -> None:
    fitting = {name for name, values in ARRAYS.items() if extent_of(values).fits(known)}
    assert fitting == PARTS[known] | {name for name, guess in GUESSES.items() if guess == known}


def test_bytes_stay_bytes_and_other_ranges_become_shares_of_their_largest_number() -> None:
    assert in_numbers(ARRAYS["bytes as int64"], BYTES).dtype == np.uint8
    np.testing.assert_array_equal(in_numbers(ARRAYS["bytes as float"], BYTES), np.float32([0, 17, 255]) / 255)
    np.testing.assert_array_equal(in_numbers(np.array([0, 65535], np.uint16), WORDS), [0.0, 1.0])
    np.testing.assert_array_equal(in_numbers(ARRAYS["Hounsfield"], OPEN), [-1024.0, 1016.0])


def test_bytes_beside_shares_become_shares() -> None:
    joined = joined_inputs([ARRAYS["bytes"], np.array([0.5], np.float32)])
    np.testing.assert_array_equal(joined, np.float32([0, 1, 0.5]))


def test_nan_says_nothing_of_a_range() -> None:
    assert extent_of(np.array([np.nan, 0.5])).guess() == UNIT
