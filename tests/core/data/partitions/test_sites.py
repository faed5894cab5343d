"""Sites of samples: who is kept, and how the samples of each are split."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from pfedgp_core.data.partitions.sites import SPLITS, Sites, split_inside
from pfedgp_core.errors import DataError
from pfedgp_core.numerics.streams import Stream

SITES = Sites(("a", "b", "c"), {"train": np.array([1, 0, 1, 2]), "validation": np.array([1]), "test": np.array([0, 1])})


def test_counts_and_rows_of_each_site() -> None:
    assert SITES.counts("train").tolist() == [1, 2, 1]
    assert [rows.tolist() for rows in SITES.rows("train")] == [[1], [0, 2], [3]]
    assert [rows.tolist() for rows in SITES.rows("validation")] == [[], [0], []]


@pytest.mark.parametrize(("floor", "left_out"), [(1, ()), (2, ("c",)), (3, ("a", "c")), (5, ("a", "b", "c"))])
def test_sites_below_the_floor_are_named(floor: int, left_out: tuple[str, ...]) -> None:
    assert SITES.left_out(floor) == left_out
    assert [SITES.names[i] for i in SITES.kept(floor)] == [name for name in "abc" if name not in left_out]


def test_a_site_without_training_samples_is_left_out() -> None:
    assert Sites(("a", "b"), {"train": np.array([1]), "test": np.zeros(9, np.int64)}).left_out(1) == ("a",)


def test_names_are_distinct() -> None:
    with pytest.raises(DataError, match="2 sites have 1 names"):
        Sites(("a", "a"), {"train": np.array([0, 1])})


def test_every_index_names_a_site() -> None:
    with pytest.raises(DataError, match="split 'test' run from 0 to 2; give 0 to 1"):
        Sites(("a", "b"), {"train": np.array([0]), "test": np.array([0, 2])})


@examples(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=60), st.integers(0, 1000))
def test_splits_are_disjoint_complete_and_even(samples: list[tuple[int, int]], seed: int) -> None:
    pairs = np.array(samples, dtype=np.int64).reshape(-1, 2)
    made = split_inside(pairs[:, 0], pairs[:, 1], Stream(seed))
    assert np.sort(np.concatenate([made[split] for split in SPLITS])).tolist() == list(range(len(pairs)))
    for site in np.unique(pairs[:, 0]):
        n = (pairs[:, 0] == site).sum()
        held = [(pairs[made[split], 0] == site).sum() for split in SPLITS]
        np.testing.assert_allclose(held, n * np.array([0.6, 0.2, 0.2]), atol=1)
        assert n < 5 or min(held) > 0


@pytest.mark.slow
def test_each_sample_is_a_test_sample_once_in_five() -> None:
    sites, strata = np.zeros(7, np.int64), np.array([0, 0, 0, 0, 0, 0, 1])
    tested = np.zeros(7)
    draws = 4000
    for seed in range(draws):
        tested[split_inside(sites, strata, Stream(seed))["test"]] += 1
    # Five deviations of a binomial share, for the rare class too.
    np.testing.assert_allclose(tested / draws, 0.2, atol=5 * np.sqrt(0.16 / draws))


def test_the_stream_decides() -> None:
    sites, strata = np.repeat([0, 1], 20), np.tile([0, 1], 20)
    first, same, other = (split_inside(sites, strata, Stream(seed))["test"].tolist() for seed in (1, 1, 2))
    assert first == same != other
