"""The average of the clients' vectors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfedgp_core.config import Settings
from pfedgp_core.errors import DataError
from pfedgp_core.learning.aggregation import aggregate, average, combine, usual_of, weighted_mean


def test_golden_fedavg(golden):
    case = golden.case("fedavg")
    vectors = [np.array(p, dtype=np.float32) for p in case["inputs"]["client_params"]]
    wanted = {a["name"]: a for a in case["asserts"]}
    uniform, weighted = wanted["uniform (paper)"], wanted["sample weighted"]
    np.testing.assert_allclose(average(vectors), uniform["value"], atol=uniform["atol"], rtol=0)
    got = average(vectors, case["inputs"]["n_samples"])
    np.testing.assert_allclose(got, weighted["value"], atol=weighted["atol"], rtol=0)


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=20), st.integers(1, 9))
def test_equal_vectors_are_their_own_average(values, n):
    vector = np.array(values, dtype=np.float32)
    result = average([vector] * n, range(1, n + 1))
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, vector)


def test_weights_count_only_relative_to_each_other():
    rng = np.random.default_rng(0)
    vectors = list(rng.normal(size=(4, 50)).astype(np.float32))
    np.testing.assert_array_equal(average(vectors), average(vectors, [3, 3, 3, 3]))
    huge = [1e307, 2e307, 3e307, 1.5e308]  # finite, but their sum is not
    np.testing.assert_allclose(average(vectors, huge), average(vectors, [1, 2, 3, 15]), rtol=1e-6)


def test_sums_in_float64():
    big = np.array([1e8], dtype=np.float32)
    vectors = [big] + [np.array([1.0], dtype=np.float32)] * 1000 + [-big]
    assert average(vectors)[0] == pytest.approx(1000 / 1002, rel=1e-6)


def test_weighted_mean_is_not_rounded():
    assert weighted_mean([np.array([1.0]), np.array([2.0])], [2, 1])[0] == pytest.approx(4 / 3, rel=1e-15)


@pytest.mark.parametrize("aggregation", ["uniform", "samples", "median", "trimmed-mean", "nearest"])
def test_combine_rounds_what_aggregate_gives(aggregation):
    vectors = list(np.random.default_rng(2).normal(size=(5, 50)))
    settings = Settings(aggregation=aggregation, trim_share=0.2)
    exact = aggregate(settings, vectors[0], vectors, [3, 1, 4, 1, 5])
    np.testing.assert_array_equal(combine(settings, vectors[0], vectors, [3, 1, 4, 1, 5]), exact.astype(np.float32))


@pytest.mark.parametrize("aggregation", ["uniform", "samples", "median", "trimmed-mean", "nearest"])
def test_aggregate_is_float64(aggregation):
    vectors = list(np.random.default_rng(2).normal(size=(5, 50)))
    exact = aggregate(Settings(aggregation=aggregation, trim_share=0.2), vectors[0], vectors, [3, 1, 4, 1, 5])
    assert np.any(exact.astype(np.float32) != exact)


def test_inputs_are_left_alone():
    vectors = [np.array([1.0, 2.0], dtype=np.float32), np.array([3.0, 4.0], dtype=np.float32)]
    average(vectors, [1, 3])
    assert vectors[0].tolist() == [1, 2]
    assert vectors[1].tolist() == [3, 4]


@pytest.mark.parametrize(
    ("vectors", "weights", "words"),
    [
        ([], None, "no vector"),
        ([[1.0], [1.0, 2.0]], None, "Vector 1 has shape"),
        ([[1.0], [np.nan]], None, "Vector 1 holds NaN"),
        ([[np.inf], [1.0]], None, "Vector 0 holds NaN or infinity"),
        ([[1.0], [1.0]], [1, 0], "Weight 1"),
        ([[1.0], [1.0]], [-1, 1], "Weight 0"),
        ([[1.0], [1.0]], [1, np.nan], "Weight 1"),
        ([[1.0], [1.0]], [1], "1 weights for 2"),
        ([[1e300], [1e300]], None, "beyond the range"),
    ],
)
def test_bad_input_is_refused(vectors, weights, words):
    with pytest.raises(DataError, match=words):
        average([np.array(v, dtype=np.float64) for v in vectors], weights)


def test_text_is_refused():
    with pytest.raises(DataError, match="Vector 0"):
        average([np.array(["a"])])


def test_a_forged_count_does_not_decide_a_mean_by_counts():
    vectors = [np.array([v], dtype=np.float32) for v in (0.0, 0.0, 0.0, 8.0)]
    mean = combine(Settings(aggregation="samples"), vectors[0], vectors, [30, 30, 30, 10**9])
    assert mean[0] == 8.0 * 3 / 6


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=9), st.lists(st.floats(1e7, 1e9), max_size=9))
def test_half_of_the_values_cannot_raise_the_usual_one(right, wrong):
    assert usual_of(np.array(right + wrong[: len(right)])) <= max(right)
