"""Mini-batches take every sample, and steps that are not finite are skipped."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pfedgp_core.errors import NonFiniteError
from pfedgp_core.learning.local_sgd import local_sgd, mini_batches
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.learning.sgd import SGD
from pfedgp_core.numerics.streams import Stream


@given(count=st.integers(1, 60), size=st.integers(1, 70), epochs=st.integers(1, 3))
def test_a_pass_takes_every_sample_once(count: int, size: int, epochs: int) -> None:
    batches = list(mini_batches(count, size, 0, epochs, Stream(0, "a")))
    assert sorted(torch.cat(batches).tolist()) == sorted(list(range(count)) * epochs)
    assert max(map(len, batches)) <= size


@given(count=st.integers(1, 60), size=st.integers(1, 70), steps=st.integers(1, 40))
def test_so_many_steps_as_asked_for(count: int, size: int, steps: int) -> None:
    assert len(list(mini_batches(count, size, steps, 1, Stream(0, "a")))) == steps


def test_every_pass_has_an_order_of_its_own() -> None:
    first, second = mini_batches(30, 30, 2, 1, Stream(0, "a"))
    assert first.tolist() != second.tolist()


def test_batches_follow_from_the_stream() -> None:
    one, other = (list(mini_batches(9, 4, 6, 1, Stream(0, "a"))) for _ in range(2))
    assert [rows.tolist() for rows in one] == [rows.tolist() for rows in other]


def test_a_step_that_is_not_finite_is_skipped_and_counted() -> None:
    weight, result = torch.ones(1, requires_grad=True), UpdateResult()
    losses = [lambda: (weight * math.inf).sum(), lambda: weight.square().sum()]  # noqa: PLW0108 (a step later)
    local_sgd([weight], losses, SGD([weight], 0.1, 0.0, 0.0), math.inf, result)
    assert result.counters["step_skipped"] == 1
    assert result.steps == 1
    assert weight.item() == pytest.approx(0.8)


def test_without_a_finite_step_there_is_no_update() -> None:
    weight, result = torch.ones(1, requires_grad=True), UpdateResult()
    local_sgd([weight], [(weight * math.inf).sum], SGD([weight], 0.1, 0.0, 0.0), math.inf, result)
    assert result.status == "no-step"
    assert weight.item() == 1.0


def test_weights_that_leave_the_numbers_are_never_sent() -> None:
    weight = torch.full((1,), 3e38, requires_grad=True)
    with pytest.raises(NonFiniteError, match="lower the learning rate"):
        local_sgd([weight], [lambda: -weight.sum()] * 2, SGD([weight], 3e38, 0.0, 0.0), math.inf, UpdateResult())


def test_a_long_gradient_is_shortened() -> None:
    weight = torch.zeros(1, requires_grad=True)
    local_sgd([weight], [lambda: 100 * weight.sum()], SGD([weight], 1.0, 0.0, 0.0), 2.0, UpdateResult())
    assert weight.item() == pytest.approx(-2.0, rel=1e-4)
