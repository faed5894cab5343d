"""What a vacuous certificate asks for."""

import math
import re
from typing import Any

import pytest

from pfedgp_core.certificate.advice import advice, smallest
from pfedgp_core.certificate.binomial_bound import clopper_pearson
from pfedgp_core.certificate.held_out import HeldOutCertificate
from pfedgp_core.certificate.progressive import Progress, bound_progress

TWO = {"classes": ["a", "b"]}


def progressive(errors: int, steps: int, disagreement: float | None, unlabelled: int, delta: float = 0.01) -> dict:
    found = Progress(errors, steps, disagreement, unlabelled)
    return {**bound_progress(found, 2 * steps, delta).to_dict(), **TWO}


def numbers(text: str | None) -> list[int]:
    assert text is not None
    found = re.findall(r"(?:about|About|and) (\d+) (?:held|lab|unl)", text)
    return [int(number) for number in found]


def held_out(errors: int, n: int) -> dict[str, Any]:
    return {**HeldOutCertificate(errors, n, clopper_pearson(errors, n, 0.01), 0.01).to_dict(), **TWO}


def test_smallest() -> None:
    assert smallest(lambda m: 1 / m, 0.1) == 11
    assert smallest(lambda m: 1 / m, 0.1, least=40) == 40
    assert smallest(lambda m: 0.5, 0.1) is None


def test_a_certificate_that_says_something_needs_none() -> None:
    assert advice(held_out(0, 100)) is None
    assert advice(progressive(0, 25, 0.01, 1000)) is None


def test_held_out_samples_that_would_do() -> None:
    (needed,) = numbers(advice(held_out(0, 3)))
    assert clopper_pearson(0, needed, 0.01) < 0.5 <= clopper_pearson(0, needed - 1, 0.01)


def test_groups_are_asked_for_where_groups_count() -> None:
    few = {**HeldOutCertificate(0, 3, clopper_pearson(0, 3, 0.01), 0.01, samples=9).to_dict(), **TWO}
    assert re.search(r"of these 3 groups, about \d+ held-out groups", advice(few) or "")
    on_the_way = {**bound_progress(Progress(0, 25, None, 0), 50, 0.01, samples=99).to_dict(), **TWO}
    assert re.search(r"About \d+ unlabelled groups in all", advice(on_the_way) or "")


def test_unlabelled_inputs_that_would_do() -> None:
    (needed,) = numbers(advice(progressive(0, 25, None, 0)))
    assert bound_progress(Progress(0, 25, 0.0, needed), 50, 0.01).deployed < 0.5
    assert bound_progress(Progress(0, 25, 0.0, needed - 1), 50, 0.01).deployed >= 0.5


def test_labelled_samples_are_named_where_unlabelled_inputs_are_dear() -> None:
    inputs, samples = numbers(advice(progressive(0, 25, 0.3, 100)))
    assert inputs > 10_000
    assert clopper_pearson(math.ceil(0.3 * samples), samples, 0.01) < 0.5
    assert len(numbers(advice(progressive(0, 25, 0.25, 100)))) == 1


def test_labelled_samples_that_would_do() -> None:
    samples, inputs = numbers(advice(progressive(1, 4, 0.1, 40)))
    assert samples > 8
    assert bound_progress(Progress(0, samples - samples // 2, 0.1, inputs), samples, 0.01).deployed < 0.5


@pytest.mark.parametrize("result", [held_out(20, 40), progressive(13, 25, 0.3, 1000)])
def test_chance_is_hopeless(result: dict[str, Any]) -> None:
    text = advice(result)
    assert text is not None
    assert "too near to chance" in text
