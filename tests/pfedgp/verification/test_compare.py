"""Comparison of a value with its reference."""

import math

import pytest

from pfedgp.verification.cases.format import Assert, NotUnderstood
from pfedgp.verification.compare import compare


def judged(got, value, **options):
    return compare(got, Assert("x", value, "exact", options))


def test_comparison_of_nested_values():
    assert judged({"a": [1.0, None]}, {"a": [1.0 + 1e-9, None]}, atol=1e-8).passed
    assert not judged({"a": [1.0, 2.0]}, {"a": [1.0, None]}, atol=1e-8).passed
    assert not judged([1.0], [1.0, 2.0], atol=1.0).passed
    assert not judged({"a": 1.0}, {"b": 1.0}, atol=1.0).passed
    assert not judged([1.0], 1.0, atol=1.0).passed
    assert judged(True, True, atol=0).passed
    assert not judged(1, True, atol=0).passed
    assert judged(2, 2.0, atol=0).passed


@pytest.mark.parametrize("got", [math.nan, math.inf, -math.inf])
def test_comparison_never_accepts_what_is_not_finite(got):
    assert not judged([got, 1.0], [0.0, 1.0], atol=1e9).passed
    assert not judged([0.0, 1.0], [got, 1.0], atol=1.0, rtol=1.0).passed


def test_comparison_by_relative_tolerance_and_by_rule():
    assert judged([101.0], [100.0], rtol=0.02).passed
    assert not judged([103.0], [100.0], rtol=0.02).passed
    rule = {"rule": "|sample mean - value| <= 5*sqrt(var/n)", "var": [4.0, 1.0], "atol": None}
    check = Assert("mean", [0.0, 0.0], "mc", rule)
    assert compare([0.09, 0.04], check, draws=10_000).passed
    assert not compare([0.09, 0.06], check, draws=10_000).passed
    with pytest.raises(NotUnderstood, match="rule"):
        compare([0.0, 0.0], check)
    with pytest.raises(NotUnderstood, match="neither"):
        judged(1.0, 1.0)


def test_float32_uses_its_own_tolerance():
    check = Assert("x", 1.0, "exact", {"atol": 1e-9, "atol_float32": 1e-5})
    assert not compare(1.000005, check).passed
    assert compare(1.000005, check, float32=True).passed


@pytest.mark.parametrize("tolerance", [math.nan, math.inf, -1.0, True, "1e9"])
@pytest.mark.parametrize("key", ["atol", "rtol"])
def test_a_tolerance_that_is_no_number_from_0_on_is_not_understood(key, tolerance):
    with pytest.raises(NotUnderstood, match="is no number from 0 on"):
        judged(1.0, 1.0, **{key: tolerance})
