"""Per-FedAvg's three gradients on a quadratic loss, where the Hessian is known."""

import pytest
import torch

from pfedgp_core.learning.meta_gradient import FORMS, MetaLoss, Triple, meta_sgd
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.learning.sgd import SGD

HESSIAN = torch.tensor([[2.0, 0.3], [0.3, 0.7]], dtype=torch.float64)
SLOPES = [torch.tensor(s, dtype=torch.float64) for s in ((1.0, -1.0), (0.2, 0.5), (-0.4, 0.1))]
W = torch.tensor([0.6, -1.1], dtype=torch.float64)
ALPHA, BETA = 0.1, 0.2


def moved(form: str, alpha: float = ALPHA, beta: float = BETA, delta: float = 1e-3):
    w, result = W.clone().requires_grad_(), UpdateResult()
    losses = [lambda s=s: 0.5 * w @ HESSIAN @ w - s @ w for s in SLOPES]
    meta_sgd([w], [Triple(*losses)], MetaLoss(form, alpha, delta), SGD([w], beta, 0.0, 0.0), 1e9, result)
    return w.detach(), result


def outer_gradient(alpha: float = ALPHA) -> torch.Tensor:
    inner = W - alpha * (HESSIAN @ W - SLOPES[0])
    return HESSIAN @ inner - SLOPES[1]


def test_first_order_is_the_gradient_after_the_inner_step():
    torch.testing.assert_close(moved("fo")[0], W - BETA * outer_gradient(), rtol=0, atol=1e-14)


@pytest.mark.parametrize(("form", "atol"), [("exact", 1e-14), ("hf", 1e-11)])
def test_the_others_know_the_hessian(form, atol):
    g = outer_gradient()
    torch.testing.assert_close(moved(form)[0], W - BETA * (g - ALPHA * HESSIAN @ g), rtol=0, atol=atol)


@pytest.mark.parametrize("form", FORMS)
def test_without_an_inner_step_all_are_plain_steps(form):
    torch.testing.assert_close(moved(form, alpha=0.0)[0], W - BETA * outer_gradient(0.0), rtol=0, atol=1e-14)


@pytest.mark.parametrize("form", FORMS)
def test_without_an_outer_step_nothing_moves(form):
    assert torch.equal(moved(form, beta=0.0)[0], W)


@pytest.mark.parametrize(("form", "count"), [("fo", 2), ("hf", 4), ("exact", 4)])
def test_gradients_are_counted(form, count):
    assert moved(form)[1].gradients == count
