"""The mean of the nearest: what few send is left out, what few know is not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError
from pfedgp_core.learning import nearest
from pfedgp_core.learning.aggregation import average, combine
from pfedgp_core.learning.nearest import nearest_mean
from pfedgp_core.learning.robust import median

SIZE = 6


def right(count: int) -> np.ndarray:
    """Vectors around one another, [count, SIZE]."""
    return np.random.default_rng(3).normal(size=(count, SIZE)).astype(np.float32)


def together(settings: Settings, vectors: np.ndarray) -> np.ndarray:
    return combine(settings, np.zeros(SIZE, np.float32), list(vectors), [1] * len(vectors))


@pytest.mark.parametrize(("count", "wrong"), [(4, 1), (8, 2), (3, 1)])
def test_far_vectors_leave_the_mean_of_the_others(count: int, wrong: int) -> None:
    good = right(count)
    far = np.full((wrong, SIZE), 1e6, np.float32)
    np.testing.assert_allclose(nearest_mean([*good, *far], wrong), good.mean(axis=0, dtype=np.float64), atol=1e-6)


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=SIZE, max_size=SIZE), st.integers(0, 4))
def test_one_vector_moves_the_result_no_further_than_the_right_ones_lie_apart(values: list[float], place: int) -> None:
    good = right(4)
    vectors = np.insert(good, place, np.array(values, np.float32), axis=0)
    apart = max(np.linalg.norm(a - b) for a in good for b in good)
    moved = nearest_mean(list(vectors), 1) - good.mean(axis=0, dtype=np.float64)
    assert np.linalg.norm(moved) <= SIZE**0.5 * apart


def test_what_one_of_five_knows_has_a_share_where_the_median_has_none() -> None:
    # Sites in a circle, so that each is the farthest of two others at most; each knows something that no other does.
    angles = 2 * np.pi * np.arange(5) / 5
    circle = np.stack([10 * np.cos(angles), 10 * np.sin(angles)], axis=1)
    vectors = np.hstack([circle, np.eye(5)])
    assert nearest_mean(list(vectors), 1)[2:].min() > 0.1
    assert median(list(vectors))[2:].max() == 0.0


def test_where_nobody_may_be_wrong_it_is_the_mean() -> None:
    settings = Settings(aggregation="nearest", trim_share=0.0)
    assert together(settings, right(5)).tobytes() == average(list(right(5))).tobytes()


def test_the_share_says_how_many_may_be_wrong() -> None:
    vectors = np.vstack([right(4), np.full((1, SIZE), 1e3, np.float32)])
    one = together(Settings(aggregation="nearest", trim_share=0.2), vectors)
    assert one.tobytes() == nearest_mean(list(vectors), 1).astype(np.float32).tobytes()


def test_a_share_that_leaves_nobody_out_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"clients-per-round to at least 10"):
        Settings(aggregation="nearest", trim_share=0.1, clients_per_round=5)


def test_in_parts_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = nearest_mean(list(right(7)), 2)
    monkeypatch.setattr(nearest, "BLOCK", 14)
    np.testing.assert_array_equal(nearest_mean(list(right(7)), 2), whole)


def test_too_many_wrong_ones_are_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="leaves nothing"):
        nearest_mean(list(right(4)), 2)
