"""The diabetes data: a regression."""

import numpy as np

from pfedgp_core.data.datasets import (
    load_dataset,
)


def test_diabetes_is_a_regression():
    from sklearn.datasets import load_diabetes

    data = load_dataset("diabetes")
    assert data.class_names == ()
    assert data.input_shape == (10,)
    assert [len(s) for s in data.splits().values()] == [265, 89, 88]
    targets = np.concatenate([s.labels for s in data.splits().values()])
    assert targets.dtype == np.float64
    assert np.array_equal(np.sort(targets), np.sort(load_diabetes().target))
    assert np.array_equal(data.labels["test"], np.zeros(88, np.int64))
