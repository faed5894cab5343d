"""The digits: fixed splits that hold each image once."""

import numpy as np

from pfedgp_core.data.datasets import (
    load_dataset,
)


def test_digits():
    data = load_dataset("digits")
    assert data.input_shape == (1, 8, 8)
    assert data.class_names == tuple("0123456789")
    assert [len(s) for s in data.splits().values()] == [1078, 362, 357]
    assert sum(len(s) for s in data.splits().values()) == 1797
    assert data.train.inputs.dtype == np.uint8
    assert data.train.inputs.max() == 240
    for c in range(10):
        counts = np.array([(labels == c).sum() for labels in data.labels.values()])
        np.testing.assert_allclose(counts, np.array([0.6, 0.2, 0.2]) * counts.sum(), atol=1)


def test_digits_splits_hold_each_image_once():
    from sklearn.datasets import load_digits

    stacked = np.concatenate([s.inputs for s in load_dataset("digits").splits().values()])
    ours = np.sort([row.tobytes() for row in stacked.reshape(1797, 64)])
    theirs = np.sort([row.tobytes() for row in (load_digits().data * 15).astype(np.uint8)])
    assert (ours == theirs).all()


def test_digits_are_the_same_for_every_seed():
    first, other = load_dataset("digits", seed=0), load_dataset("digits", seed=1)
    for a, b in zip(first.splits().values(), other.splits().values(), strict=True):
        assert np.array_equal(a.inputs, b.inputs)
        assert np.array_equal(a.labels, b.labels)
