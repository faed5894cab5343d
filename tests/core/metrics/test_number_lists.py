"""Lists of numbers are checked as their single values are."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pfedgp_core.checks import COUNT_LIMIT, MALFORMED, count, finite
from pfedgp_core.metrics.number_lists import counts, finites

GOOD = [0, 1, COUNT_LIMIT]
BAD = [-1, COUNT_LIMIT + 1, 2**63, 10**400, True, None, "1", [1], 1.5, float("nan"), float("inf"), -float("inf"), {}]


def fails(call: Callable[[], Any]) -> bool:
    try:
        call()
    except MALFORMED:
        return True
    return False


@pytest.mark.parametrize("value", [*GOOD, *BAD], ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("before", [[], [3]], ids=["alone", "behind another"])
@pytest.mark.parametrize(("whole", "single"), [(counts, count), (finites, finite)])
def test_a_list_fails_where_one_of_its_values_does(
    value: Any, before: list[int], whole: Callable[[Any], np.ndarray], single: Callable[[Any], float]
) -> None:
    assert fails(lambda: whole([*before, value])) == fails(lambda: single(value))


def test_the_values_are_kept() -> None:
    np.testing.assert_array_equal(counts(GOOD), np.array(GOOD, np.int64))
    np.testing.assert_array_equal(finites([1, -2.5]), np.array([1.0, -2.5]))
    assert counts([]).shape == finites([]).shape == (0,)


@pytest.mark.parametrize("value", [5, None, 1.0])
def test_no_list_is_refused(value: Any) -> None:
    for whole in (counts, finites):
        with pytest.raises(MALFORMED):
            whole(value)
