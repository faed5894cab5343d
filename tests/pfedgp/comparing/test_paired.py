"""Paired differences, against scipy's own test."""

import numpy as np
import pytest
from scipy.stats import ttest_rel

from pfedgp.comparing.paired import Paired, paired


def test_the_interval_is_that_of_the_paired_t_test() -> None:
    draw = np.random.default_rng(0)
    first, second = ({f"c{i}": float(x) for i, x in enumerate(draw.normal(size=12))} for _ in range(2))
    found = paired(first, second)
    assert found is not None
    theirs = ttest_rel(list(second.values()), list(first.values()))
    low, high = theirs.confidence_interval(0.95)
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))
    assert found.mean == pytest.approx(np.mean(list(second.values())) - np.mean(list(first.values())))


def test_only_clients_of_both_runs_count() -> None:
    found = paired({"a": 0.5, "b": 0.5, "c": 0.5, "d": 1.0}, {"a": 0.75, "b": 0.5, "c": 0.0, "e": 1.0})
    assert found is not None
    assert (found.higher, found.equal, found.lower, found.clients) == (1, 1, 1, 3)
    assert found.mean == pytest.approx(-0.25 / 3)


def test_one_client_has_no_interval_and_none_no_difference() -> None:
    assert paired({"a": 0.5}, {"a": 0.75}) == Paired(0.25, None, None, 1, 0, 0)
    assert paired({"a": 0.5}, {"b": 0.75}) is None
