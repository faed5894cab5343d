"""Blocks of one Gram matrix: the values, factors and gradients of slices."""

from collections import Counter

import pytest
import torch

from pfedgp_core.gp.shared_gram import GramBlock, SharedGram

BLOCKS = ((0, 9), (0, 6), (6, 9), (0, 4), (4, 6))


def matrix() -> torch.Tensor:
    rows = torch.randn(9, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return rows @ rows.T + 3 * torch.eye(9, dtype=torch.float64)


@pytest.mark.parametrize("start", [0, 4, 6])
def test_factors_are_those_of_the_blocks(start: int) -> None:
    shared = SharedGram(matrix())
    for first, stop in BLOCKS:
        if first == start:
            expected = torch.linalg.cholesky(matrix()[first:stop, first:stop])
            torch.testing.assert_close(GramBlock(shared, first, stop).factor, expected)


def test_a_larger_block_that_is_asked_for_later_has_its_factor_too() -> None:
    shared = SharedGram(matrix())
    shared.factor(0, 4)
    torch.testing.assert_close(shared.factor(0, 6), torch.linalg.cholesky(matrix()[:6, :6]))


def test_gradients_are_those_of_slices() -> None:
    gradients = []
    for use_blocks in (True, False):
        gram = matrix().requires_grad_()
        shared = SharedGram(gram)
        blocks = [GramBlock(shared, *b).gram if use_blocks else gram[b[0] : b[1], b[0] : b[1]] for b in BLOCKS]
        loss = sum((i + 1) * block.sin().sum() for i, block in enumerate(blocks))
        gradients.append(torch.autograd.grad(loss, gram)[0])
    torch.testing.assert_close(*gradients)


def test_a_second_backward_pass_starts_from_nothing() -> None:
    gram = matrix().requires_grad_()
    block = GramBlock(SharedGram(gram), 0, 6).gram
    first, second = (torch.autograd.grad(block.sin().sum(), gram, retain_graph=True)[0] for _ in range(2))
    torch.testing.assert_close(first, second, atol=0, rtol=0)


def test_a_repair_is_counted_once_for_all_blocks_that_begin_together() -> None:
    counters: Counter[str] = Counter()
    shared = SharedGram(torch.ones(6, 6, dtype=torch.float64), counters)
    for stop in (6, 4, 2):
        shared.factor(0, stop)
    assert counters["cholesky_jitter"] == 1
