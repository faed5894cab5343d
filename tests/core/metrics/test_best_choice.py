"""The choice of the best model: that of the pooled metric, but for what one of five clients makes of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfedgp_core.metrics.best_choice import Measured, improves
from pfedgp_core.metrics.classification import MetricSums
from pfedgp_core.metrics.regression import RegressionSums
from pfedgp_core.metrics.task_report import CLASSIFICATION, REGRESSION

N = 36
RIGHT = st.integers(0, N)
SHARES = st.floats(0, 1)
COUNTS = st.integers(1, 10**12)


def clients(*right: int, n: int = N, log_likelihood: float = 0.0) -> dict[str, Measured]:
    """Clients of `n` samples each, of which so many are right."""
    return {f"client-{i:02}": Measured(n, k / n, log_likelihood) for i, k in enumerate(right)}


@given(st.lists(st.tuples(st.integers(5, 30), st.integers(-4, 4)), min_size=3, max_size=12), st.integers(-3, 3))
def test_the_pooled_accuracy_decides_where_no_client_stands_out(pairs: list[tuple[int, int]], common: int) -> None:
    # All changes are `common`, but for one sample.
    former = clients(*(k for k, _ in pairs))
    model = clients(*(k + common + (wobble > 0) for k, wobble in pairs))
    gained = sum(common + (wobble > 0) for _, wobble in pairs)
    assert improves(model, former, 1.0) is (gained > 0)


@given(st.lists(st.integers(10, 20), min_size=2, max_size=9), COUNTS, SHARES, SHARES)
def test_one_client_cannot_choose_a_model_that_is_worse_for_all_others(
    others: list[int], n: int, before: float, after: float
) -> None:
    former, model = clients(*others), clients(*(k - 5 for k in others))
    former["liar"], model["liar"] = Measured(n, before, 0.0), Measured(n, after, 0.0)
    assert improves(model, former, 1.0) is False


@given(st.lists(st.integers(10, 20), min_size=2, max_size=9), COUNTS, SHARES, SHARES)
def test_one_client_cannot_keep_a_model_that_is_worse_for_all_others(
    others: list[int], n: int, before: float, after: float
) -> None:
    former, model = clients(*others), clients(*(k + 5 for k in others))
    former["liar"], model["liar"] = Measured(n, before, 0.0), Measured(n, after, 0.0)
    assert improves(model, former, 1.0) is True


@pytest.mark.parametrize(("honest", "liars"), [(8, 2), (16, 4)])
@pytest.mark.parametrize("lie", [0.0, 1.0])
def test_a_fifth_of_the_clients_cannot_either(honest: int, liars: int, lie: float) -> None:
    former, model = clients(*[20] * honest), clients(*[25] * honest)
    for i in range(liars):
        former[f"liar-{i}"], model[f"liar-{i}"] = Measured(3 * N, 1 - lie, 0.0), Measured(3 * N, lie, 0.0)
    assert improves(model, former, 1.0) is True
    assert improves(former, model, 1.0) is False


def test_a_gain_of_one_sample_of_one_client_decides() -> None:
    assert improves(clients(20, 21, 22, 23), clients(20, 21, 22, 22), 1.0) is True
    assert improves(clients(20, 21, 22, 22), clients(20, 21, 22, 23), 1.0) is False


def test_a_large_gain_of_one_client_counts_as_one_sample() -> None:
    assert improves(clients(20, 19, 22, 33), clients(20, 21, 22, 23), 1.0) is False
    assert improves(clients(20, 21, 22, 33), clients(20, 21, 22, 23), 1.0) is True


def test_the_likelihood_decides_between_equal_scores() -> None:
    right, sharper = clients(20, 25, 30), clients(20, 25, 30, log_likelihood=0.1)
    assert improves(sharper, right, 1.0) is True
    assert improves(right, sharper, 1.0) is False
    assert improves(right, right, 1.0) is False


@given(st.lists(RIGHT, min_size=3, max_size=12), st.integers(1, 50))
def test_equal_shares_are_equal_whatever_the_number_of_samples(right: list[int], times: int) -> None:
    assert improves(clients(*right), clients(*(times * k for k in right), n=times * N), 1.0) is False


def test_two_clients_are_too_few() -> None:
    both = clients(1, 2), clients(3, 4)
    assert improves(*both, 1.0) is None
    assert improves(clients(1, 2, 3), clients(3, 4), 1.0) is None


def test_where_each_model_was_measured_by_clients_of_its_own_the_pooled_metrics_decide() -> None:
    former = clients(*[20] * 10)
    model = dict(list(clients(*[25] * 16).items())[6:])  # ten clients, of which four are the same
    assert improves(model, former, 1.0) is None
    assert improves(dict(list(model.items())[:8]), former, 1.0) is None
    assert improves(dict(list(clients(*[25] * 15).items())[5:]), former, 1.0) is True


def test_a_client_that_measured_one_of_them_has_no_say() -> None:
    former, model = clients(20, 20, 20), clients(21, 21, 21, 0)
    assert improves(model, former, 1.0) is True


def test_what_a_client_measures_is_the_mean_that_the_score_pools() -> None:
    sums = MetricSums(10, 7, 4.0)
    assert CLASSIFICATION.measured({"a": sums, "none": MetricSums()}) == {"a": Measured(10, 0.7, -0.4)}
    errors = RegressionSums(n=4, standard_square=2.0, nll_sum=8.0)
    assert REGRESSION.measured({"a": errors}) == {"a": Measured(4, -0.5, -2.0)}


def test_one_client_of_a_regression_has_no_sample_for_itself() -> None:
    former = {name: Measured(9, -0.5, 0.0) for name in "abcd"}
    worse = {name: Measured(9, -0.5 - 1e-6, 0.0) for name in "abc"} | {"d": Measured(9, 0.0, 0.0)}
    assert REGRESSION.improves(worse, former) is False
