"""The average of the clients' vectors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfedgp_core.config import Settings
from pfedgp_core.errors import DataError
from pfedgp_core.learning.aggregation import (
    aggregate,
    average,
    combine,
    implausible_updates,
    update_norms,
    weighted_mean,
)


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


@pytest.mark.parametrize("aggregation", ["uniform", "samples", "median", "trimmed-mean"])
def test_combine_rounds_what_aggregate_gives(aggregation):
    vectors = list(np.random.default_rng(2).normal(size=(5, 50)))
    settings = Settings(aggregation=aggregation, trim_share=0.2)
    exact = aggregate(settings, vectors[0], vectors, [3, 1, 4, 1, 5])
    np.testing.assert_array_equal(combine(settings, vectors[0], vectors, [3, 1, 4, 1, 5]), exact.astype(np.float32))


@pytest.mark.parametrize("aggregation", ["uniform", "samples", "median", "trimmed-mean"])
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


@pytest.mark.parametrize(
    ("updates", "implausible"),
    [
        ([1.0, 2.0, 1.5, 500.0], [3]),
        ([1.0, 90.0, 1.5], []),
        ([1.0, 500.0], []),  # two cannot outvote each other, and nothing is known of former rounds
        ([1.0, 1e30], [1]),
        ([0.0, 0.0, 1.0], [2]),
        ([], []),
    ],
)
def test_updates_that_no_training_explains(updates, implausible):
    sent = np.ones(4, dtype=np.float32)
    vectors = [sent + np.float32(u) * np.array([1, 0, 0, 0], dtype=np.float32) for u in updates]
    assert implausible_updates(sent, update_norms(sent, vectors), 100.0) == implausible


@pytest.mark.parametrize(
    ("norms", "former", "implausible"),
    [
        ([1.0, 19.0], [], []),
        ([1.0, 990.0], [], [1]),
        ([990.0], [1.0, 2.0, 3.0], [0]),
        ([150.0], [1.0, 2.0, 3.0], []),
        ([150.0], [1e-3, 1.0, 900.0], [0]),
        ([150.0, 150.0, 150.0], [1.0], []),  # three of a round say more than former rounds
        ([990.0], None, []),
    ],
)
def test_few_updates_are_held_against_former_rounds(norms, former, implausible):
    sent = np.ones(4, dtype=np.float32)
    assert implausible_updates(sent, np.array(norms), 100.0, former) == implausible
