"""Comparing a computed value with an expected one: tolerances, and values nested in lists and dicts."""

import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from pfedgp.verification.cases.format import Assert, NotUnderstood

__all__ = ["FLOAT32_LOOSE", "Verdict", "compare", "float32_tolerance"]

FLOAT32_LOOSE = 1e-5  # an absolute tolerance from here on can be met in float32 as well


class Verdict(NamedTuple):
    """Whether a value passed, and why, in a few words."""

    passed: bool
    text: str


class _Leaf(NamedTuple):
    place: tuple[Any, ...]
    got: Any
    expected: Any


def float32_tolerance(check: Assert) -> float | None:
    """The absolute tolerance of an assert in float32, None where it has none; NotUnderstood where it is no number."""
    stated = check.options.get("atol_float32")
    if stated is not None:
        if not _is_number(stated) or not math.isfinite(stated) or stated < 0:
            raise NotUnderstood(f"the tolerance {_short(stated)} for float32 is no number from 0 on")
        return float(stated)
    atol = check.options.get("atol")
    return float(atol) if atol is not None and _is_number(atol) and atol >= FLOAT32_LOOSE else None


def compare(got: Any, check: Assert, *, float32: bool = False, draws: int | None = None) -> Verdict:
    """Judge a computed value against an assert.

    Numbers pass by the assert's tolerance; truth values, texts and None must be equal; lists and dicts must have the
    same form.

    Parameters
    ----------
    got : Any
        Numbers, Tensors, or nested lists and dicts of them.
    check : Assert
    float32 : bool
        Use the tolerance for float32.
    draws : int, optional
        Number of draws behind a sample mean, for a ``rule`` that divides by n.

    Raises
    ------
    NotUnderstood
        The assert has no tolerance, or a rule of unknown form.
    """
    try:
        leaves = list(_pairs(_plain(got), check.value, ()))
    except _FormError as difference:
        return Verdict(False, str(difference))
    worst: tuple[float, float] | None = None
    worst_ratio = -1.0
    for leaf in leaves:
        if not _is_number(leaf.expected) or not _is_number(leaf.got):
            if leaf.got != leaf.expected or type(leaf.got) is not type(leaf.expected):
                return Verdict(False, f"{_short(leaf.got)} is not {_short(leaf.expected)}")
            continue
        allowed = _allowed(check, leaf, float32, draws)
        error, ratio = _ratio(leaf, allowed)
        if ratio > worst_ratio:
            worst, worst_ratio = (error, allowed), ratio
    if worst is None:
        return Verdict(True, "equal")
    passed = worst_ratio <= 1.0
    return Verdict(passed, f"|err| {worst[0]:.1e} {'<=' if passed else '>'} {worst[1]:g}")


class _FormError(Exception):
    pass


def _pairs(got: Any, expected: Any, place: tuple[Any, ...]) -> Iterator[_Leaf]:
    where = f" at {'/'.join(map(str, place))}" if place else ""
    if isinstance(expected, dict):
        if not isinstance(got, dict) or set(got) != set(expected):
            keys = sorted(got) if isinstance(got, dict) else _short(got)
            raise _FormError(f"got {keys}{where} for the fields {sorted(expected)}")
        for key in expected:
            yield from _pairs(got[key], expected[key], (*place, key))
    elif isinstance(expected, list):
        if not isinstance(got, list) or len(got) != len(expected):
            size = f"{len(got)} values" if isinstance(got, list) else _short(got)
            raise _FormError(f"got {size}{where} for {len(expected)} values")
        for i, (a, b) in enumerate(zip(got, expected, strict=True)):
            yield from _pairs(a, b, (*place, i))
    elif isinstance(got, list | dict):
        raise _FormError(f"got {_short(got)}{where} for {_short(expected)}")
    else:
        yield _Leaf(place, got, expected)


def _ratio(leaf: _Leaf, allowed: float) -> tuple[float, float]:
    """The error, and how many times the allowed one it is; infinitely often where a number is not finite or NaN."""
    if leaf.got == leaf.expected:
        return 0.0, 0.0
    error = abs(leaf.got - leaf.expected)
    if not math.isfinite(error) or not allowed > 0:
        return error, math.inf
    return error, error / allowed


def _allowed(check: Assert, leaf: _Leaf, float32: bool, draws: int | None) -> float:
    options = check.options
    if float32:
        tolerance = float32_tolerance(check)
        if tolerance is None:
            raise NotUnderstood("the assert has no tolerance for float32")
        return tolerance
    if options.get("rule") is not None:
        found = re.fullmatch(r".*<=\s*([\d.]+)\s*\*\s*sqrt\(var\s*/\s*n\)\s*", str(options["rule"]))
        if not found or draws is None or options.get("var") is None:
            raise NotUnderstood(f"the rule {options['rule']!r} is of unknown form, or lacks var or n")
        variance = options["var"]
        for step in leaf.place:
            variance = variance[step] if isinstance(variance, list | dict) else variance
        return float(found[1]) * math.sqrt(variance / draws)
    given = [options[key] for key in ("atol", "rtol") if options.get(key) is not None]
    if not given:
        raise NotUnderstood("the assert has neither atol, rtol nor rule")
    if not all(_is_number(t) and math.isfinite(t) and t >= 0 for t in given):
        raise NotUnderstood(f"the tolerance {given} is no number from 0 on")
    return float(options.get("atol") or 0.0) + float(options.get("rtol") or 0.0) * float(abs(leaf.expected))


def _plain(value: Any) -> Any:
    """Turn tensors, arrays and tuples into nested lists of Python numbers."""
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().tolist()
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
