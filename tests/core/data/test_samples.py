"""Samples in memory: what is refused, how inputs are normalised, how classes are split."""

import numpy as np
import pytest

from pfedgp_core.data.datasets import (
    Dataset,
    Split,
    input_statistics,
    normalised,
    stratified_split,
)
from pfedgp_core.errors import DataError
from pfedgp_core.numerics.streams import Stream


def test_splits_hold_class_ids_or_targets():
    x = np.zeros((3, 2), np.float32)
    for labels in (np.array([0.0, np.nan, 1.0]), np.zeros(3, np.float32), np.zeros((3, 1))):
        with pytest.raises(DataError):
            Split(x, labels)
    targets, ids = Split(x, np.array([0.5, 2.0, -1.0])), Split(x, np.array([0, 1, 0]))
    ones = np.ones(2, np.float32)
    with pytest.raises(DataError, match="float64 targets without"):
        Dataset("mixed", ("a", "b"), targets, targets, targets, ones, ones, (2,))
    with pytest.raises(DataError, match="float64 targets without"):
        Dataset("mixed", (), targets, ids, targets, ones, ones, (2,))


def test_vectors_with_a_constant_and_a_wild_column():
    rng = np.random.default_rng(0)
    x = np.stack([rng.normal(5, 1e3, 200), np.full(200, 3.3), rng.normal(0, 1e-3, 200)], axis=1).astype(np.float32)
    split = Split(x, np.zeros(200, dtype=np.int64))
    out = normalised(split, *input_statistics(x)).inputs.numpy()
    np.testing.assert_allclose(out.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(out.std(axis=0), [1, 0, 1], atol=1e-4)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_non_finite_vectors_are_refused(value):
    x = np.zeros((4, 3), dtype=np.float32)
    x[2, 1] = value
    with pytest.raises(DataError, match=r"1 of 4 samples .* row 3\b"):
        Split(x, np.zeros(4, dtype=np.int64))


def test_values_beyond_float32_after_normalising_are_refused():
    split = Split(np.full((1, 1), 3e38, dtype=np.float32), np.zeros(1, dtype=np.int64))
    with pytest.raises(DataError, match="rescale"):
        normalised(split, np.array([0.0]), np.array([1e-3]))


@pytest.mark.parametrize(
    ("inputs", "labels"),
    [
        (np.zeros((2, 3)), np.zeros(2, np.int64)),
        (np.zeros((2, 3), np.uint8), np.zeros(2, np.int64)),
        (np.zeros((2, 3), np.float32), np.zeros(2, np.int32)),
        (np.zeros((2, 3), np.float32), np.zeros(3, np.int64)),
    ],
)
def test_other_forms_are_refused(inputs, labels):
    with pytest.raises(DataError):
        Split(inputs, labels)


def test_dataset_checks_its_parts():
    split = Split(np.zeros((2, 3), np.float32), np.array([0, 1]))
    one, two = np.ones(3, np.float32), ("a", "b")
    Dataset("x", two, split, split, split, one, one, (3,))
    for classes, mean, std, shape in [
        (("a",), one, one, (3,)),
        (two, one[:2], one, (3,)),
        (two, one * np.nan, one, (3,)),
        (two, one, one * 0, (3,)),
        (two, one, one, (4,)),
    ]:
        with pytest.raises(DataError):
            Dataset("x", classes, split, split, split, mean, std, shape)


def test_stratified_split():
    labels = np.array([0] * 50 + [1] * 7 + [2])
    parts = stratified_split(labels, (0.8, 0.2), Stream(0, "test"))
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(58))
    assert np.bincount(labels[parts[0]]).tolist() == [40, 6, 1]
