"""Counts of texts that leave a site: none of few rows, and none that can be computed from the others."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfedgp_core.data.tables.cells_that_leave import WITHHELD, cells_that_leave


@pytest.mark.parametrize(
    ("counts", "rows", "expected"),
    [
        ({"f": 40, "m": 50}, 90, {"f": 40, "m": 50}),
        ({"f": 40, "m": 50, "x": 7}, 97, {"f": 40, "m": 50, "x": 7}),
        ({"f": 40, "m": 50, "x": 4, "y": 4}, 98, {"f": 40, "m": 50}),  # eight others: no small cell
        ({"f": 40, "m": 50, "x": 4}, 94, {"f": WITHHELD, "m": 50}),
        ({"f": 6, "m": 6, "x": 3}, 15, {"f": WITHHELD, "m": WITHHELD}),  # f alone were 6 at most, and x 3 or 4
        ({"f": 5, "m": 9, "x": 1}, 15, {"f": WITHHELD, "m": WITHHELD}),
        ({"f": 5, "m": 5, "x": 1}, 11, {"m": 5}),
        ({"f": 5, "x": 1}, 6, {}),
        ({"x": 4, "y": 3}, 7, {}),
    ],
)
def test_what_leaves(counts: dict[str, int], rows: int, expected: dict[str, int]) -> None:
    assert cells_that_leave(counts, rows, 5) == expected


@pytest.mark.slow
@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=8), st.integers(0, 6), st.integers(2, 12), st.integers(0, 2**32)
)
def test_no_count_below_the_floor_can_be_computed(sizes: list[int], gaps: int, floor: int, seed: int) -> None:
    names = np.random.default_rng(seed).permutation(len(sizes)).tolist()
    counts = {f"v{name}": n for name, n in zip(names, sizes, strict=True)}
    rows = sum(sizes) + gaps
    told = cells_that_leave(counts, rows, floor)
    assert all(counts[name] >= floor for name in told)
    assert all(n in (WITHHELD, counts[name]) for name, n in told.items())
    hidden = [name for name, n in told.items() if n == WITHHELD]
    left = rows - sum(told.values())  # what nobody told, of which each hidden count takes the floor at least
    rest = left - sum(counts[name] for name in hidden)
    if hidden:
        assert left - floor * len(hidden) >= floor - 1  # any rest from 1 to floor - 1 is possible
    else:
        assert rest == 0 or rest >= floor or not told
    assert rest == rows - sum(counts[name] for name in told)


@pytest.mark.parametrize("floor", [5, 6, 8])
def test_no_small_rest_follows_from_what_is_told_and_from_how_it_was_chosen(floor: int) -> None:
    for rows in range(floor, 4 * floor):
        rests: dict[tuple[tuple[str, int], ...], set[int]] = {}
        for a, b in itertools.product(range(rows + 1), repeat=2):
            if a + b > rows:
                continue
            told = cells_that_leave({"a": a, "b": b}, rows, floor)
            named = sum({"a": a, "b": b}[text] for text in told)
            rests.setdefault(tuple(sorted(told.items())), set()).add(rows - named)
        assert not [told for told, rest in rests.items() if len(rest) == 1 and 0 < min(rest) < floor]
