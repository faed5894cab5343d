"""Median and trimmed mean of the clients' vectors: values, bounds against wrong vectors, and memory."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.learning import robust
from pfedgp_core.learning.aggregation import average, combine
from pfedgp_core.learning.robust import trim_count, trimmed_mean

MEDIAN = Settings(aggregation="median")
ANY = st.floats(width=32, allow_nan=False, allow_infinity=False)
SIZE = 3


def trimmed(share: float) -> Settings:
    return Settings(aggregation="trimmed-mean", trim_share=share)


def vectors_of(*rows: list[float]) -> list[np.ndarray]:
    return [np.array(row, dtype=np.float32) for row in rows]


def together(settings: Settings, vectors: list[np.ndarray]) -> np.ndarray:
    return combine(settings, np.zeros_like(vectors[0]), vectors, [1] * len(vectors))


@st.composite
def right_and_wrong(draw: st.DrawFn, most_wrong) -> tuple[list[np.ndarray], list[np.ndarray], int]:
    """Right vectors, wrong ones of any finite values, and where the wrong ones stand among them."""
    n = draw(st.integers(1, 9))
    wrong = draw(st.integers(0, most_wrong(n)))
    rows = st.lists(ANY, min_size=SIZE, max_size=SIZE)
    right = vectors_of(*(draw(rows) for _ in range(n - wrong)))
    return right, vectors_of(*(draw(rows) for _ in range(wrong))), draw(st.integers(0, len(right)))


def check_bounds(settings: Settings, case: tuple[list[np.ndarray], list[np.ndarray], int]) -> None:
    right, wrong, at = case
    result = together(settings, right[:at] + wrong + right[at:])
    assert result.dtype == np.float32
    assert (np.min(right, axis=0) <= result).all()
    assert (result <= np.max(right, axis=0)).all()


@given(right_and_wrong(lambda n: (n - 1) // 2))
def test_a_minority_cannot_move_the_median_out_of_the_range_of_the_others(case) -> None:
    check_bounds(MEDIAN, case)


@given(right_and_wrong(lambda n: trim_count(0.34, n)))
def test_as_many_as_are_trimmed_cannot_move_the_mean_out_of_the_range_of_the_others(case) -> None:
    check_bounds(trimmed(0.34), case)


def test_one_wrong_vector_moves_the_uniform_mean_anywhere() -> None:
    vectors = vectors_of([1.0], [2.0], [3e38])
    assert together(Settings(), vectors)[0] > 1e37
    assert together(MEDIAN, vectors)[0] == 2.0 == together(trimmed(0.34), vectors)[0]


@given(st.lists(st.lists(ANY, min_size=SIZE, max_size=SIZE), min_size=1, max_size=8), st.randoms())
def test_the_order_of_the_clients_does_not_matter(rows, random) -> None:
    shuffled = random.sample(rows, len(rows))
    for settings in (MEDIAN, trimmed(0.4)) if len(rows) > 2 else (MEDIAN,):
        assert together(settings, vectors_of(*rows)).tobytes() == together(settings, vectors_of(*shuffled)).tobytes()


def test_values_against_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robust, "BLOCK", 40)  # several blocks, the last one shorter
    rng = np.random.default_rng(1)
    for n in (1, 2, 5, 8):
        vectors = list(rng.normal(size=(n, 23)).astype(np.float32))
        stack = np.array(vectors, dtype=np.float64)
        np.testing.assert_array_equal(together(MEDIAN, vectors), np.median(stack, axis=0).astype(np.float32))
        trim = trim_count(0.26, n)
        wanted = np.sort(stack, axis=0)[trim : n - trim].mean(axis=0)
        np.testing.assert_allclose(together(trimmed(0.26), vectors), wanted, rtol=1e-7, atol=1e-8)


@given(st.lists(st.lists(st.floats(-1e6, 1e6, width=32), min_size=SIZE, max_size=SIZE), min_size=1, max_size=8))
def test_nothing_trimmed_is_the_uniform_mean(rows) -> None:
    vectors = vectors_of(*rows)
    assert together(trimmed(0.0), vectors).tobytes() == average(vectors).tobytes()
    assert together(Settings(), vectors).tobytes() == average(vectors).tobytes()


def test_sample_counts_decide_in_samples_only() -> None:
    vectors, sent = vectors_of([0.0], [10.0]), np.zeros(1, dtype=np.float32)
    got = {
        name: combine(Settings(aggregation=name, trim_share=0.2), sent, vectors, [1, 3])[0]
        for name in ("uniform", "samples", "median", "trimmed-mean")
    }
    assert got == {"uniform": 5.0, "samples": 7.5, "median": 5.0, "trimmed-mean": 5.0}


@pytest.mark.parametrize(
    ("share", "n", "count"), [(0.1, 5, 0), (0.2, 5, 1), (0.29, 100, 29), (0.49, 3, 1), (0.49, 2, 0), (0.3, 10, 3)]
)
def test_how_many_are_trimmed(share: float, n: int, count: int) -> None:
    assert trim_count(share, n) == count
    assert n - 2 * count >= 1


def test_a_share_that_trims_nobody_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"clients-per-round to at least 10"):
        Settings(aggregation="trimmed-mean", trim_share=0.1, clients_per_round=5)
    Settings(aggregation="trimmed-mean", trim_share=0.1, clients_per_round=10)
    Settings(aggregation="trimmed-mean", trim_share=0.2, clients_per_round=5)


def test_a_trim_that_leaves_nothing_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="leaves nothing"):
        trimmed_mean(vectors_of([1.0], [2.0]), 1)


@pytest.mark.parametrize("name", ["uniform", "samples", "median", "trimmed-mean", "nearest"])
def test_bad_vectors_are_refused(name: str) -> None:
    settings, sent = Settings(aggregation=name, trim_share=0.34), np.zeros(2, dtype=np.float32)
    good = np.ones(2, dtype=np.float32)
    for bad, words in (([1.0, np.nan], "NaN"), ([1.0, -np.inf], "NaN or infinity"), ([1.0], "shape")):
        with pytest.raises(DataError, match=words):
            combine(settings, sent, [good, good, np.array(bad, dtype=np.float32)], [1, 1, 1])
    with pytest.raises(DataError, match="no vector"):
        combine(settings, sent, [], [])
    with pytest.raises(DataError, match="was sent out"):
        combine(settings, sent, [np.ones(3, dtype=np.float32)] * 3, [1, 1, 1])


@pytest.mark.slow
def test_memory_does_not_grow_with_another_copy_of_all_vectors() -> None:
    vectors = list(np.random.default_rng(0).normal(size=(20, 1_000_000)).astype(np.float32))  # 80 MB
    tracemalloc.start()
    try:
        together(MEDIAN, vectors)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 60e6
