"""The second column of an evaluation: predictions among the classes of the client's training data alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfedgp_core.errors import DataError
from pfedgp_core.metrics.classification import MetricSums, metric_sums
from pfedgp_core.metrics.own_classes import label_columns, own_class_sums, restrict

P = np.array([[0.125, 0.5, 0.375], [0.5, 0.5, 0.0]])
CLASSES = np.array([2, 5, 7])


def own(labels: list[int], trained: list[int]) -> MetricSums:
    sums = own_class_sums(P, CLASSES, np.array(labels), np.array(trained))
    assert sums is not None
    return sums


@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_rows_renormalise(kept: int, seed: int) -> None:
    p = np.random.default_rng(seed).dirichlet(np.full(6, 0.3), 20)
    np.testing.assert_allclose(restrict(p, np.arange(6) < kept).sum(axis=1), 1.0)


def test_shares_among_kept_columns_stay() -> None:
    np.testing.assert_allclose(restrict(P, [True, False, True]), [[0.25, 0.75], [1.0, 0.0]])


def test_a_row_without_any_mass_on_kept_columns_is_shared_equally() -> None:
    np.testing.assert_allclose(restrict([[1.0, 0.0, 0.0]], [False, True, True]), [[0.5, 0.5]])


def test_a_tiny_mass_renormalises() -> None:
    np.testing.assert_allclose(restrict([[1.0, 3e-300, 1e-300]], [False, True, True]), [[0.75, 0.25]])


def test_no_sample_stays_none() -> None:
    assert restrict(np.zeros((0, 3)), [True, False, True]).shape == (0, 2)


def test_rows_that_are_no_probabilities_are_refused() -> None:
    with pytest.raises(DataError, match="no probabilities that sum to 1"):
        restrict([[0.9, 0.9]], [True, False])


def test_sums_are_those_of_the_restricted_rows() -> None:
    assert own([7, 2], [2, 7, 7]) == metric_sums([[0.25, 0.75], [1.0, 0.0]], [1, 0])


def test_a_label_outside_the_own_classes_is_an_error() -> None:
    assert own([5, 5], [2, 7]).correct == 0


def test_a_label_outside_the_own_classes_has_probability_0() -> None:
    assert own([5, 5], [2, 7]).nll_sum == pytest.approx(-2 * np.log(1e-12))


def test_a_class_that_the_predictor_does_not_know_changes_nothing() -> None:
    assert own([7, 2], [2, 7, 9]) == own([7, 2], [2, 7])


@pytest.mark.parametrize("trained", [[2, 5, 7], [1, 2, 5, 7, 9]])
def test_nothing_is_to_restrict_where_every_column_is_an_own_class(trained: list[int]) -> None:
    assert own_class_sums(P, CLASSES, np.array([2, 5]), np.array(trained)) is None


def test_nothing_is_left_where_no_column_is_an_own_class() -> None:
    assert own_class_sums(P, CLASSES, np.array([2, 5]), np.array([9])) is None


def test_columns_of_labels() -> None:
    assert label_columns(CLASSES, np.array([7, 3, 2, 99, 0])).tolist() == [2, -1, 0, -1, -1]
