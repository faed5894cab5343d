"""pFedMe's inner problem against its closed form, and the limits in which it is plain SGD."""

import pytest
import torch

from pfedgp_core.learning.moreau import Envelope, moreau_sgd
from pfedgp_core.learning.result import UpdateResult

X = torch.tensor([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0], [1.5, 0.2, -0.7], [-1.0, 1.0, 1.0]], dtype=torch.float64)
Y = torch.tensor([1.0, -0.5, 2.0, 0.3], dtype=torch.float64)
W = torch.tensor([0.4, -0.2, 0.9], dtype=torch.float64)
HESSIAN, SLOPE = X.T @ X / 4, X.T @ Y / 4


def moved(envelope: Envelope, batches: int = 1):
    """theta and w after steps on the same batch, and the result."""
    theta, result = W.clone().requires_grad_(), UpdateResult()
    (w,) = moreau_sgd([theta], [lambda: 0.5 * (X @ theta - Y).square().mean()] * batches, envelope, 1e9, result)
    return theta.detach(), w, result


def gradient(w: torch.Tensor) -> torch.Tensor:
    return HESSIAN @ w - SLOPE


@pytest.mark.slow
def test_many_inner_steps_solve_the_quadratic_problem():
    theta, _, _ = moved(Envelope(2.5, 4000, 0.1, 0.1))
    expected = torch.linalg.solve(HESSIAN + 2.5 * torch.eye(3, dtype=torch.float64), SLOPE + 2.5 * W)
    torch.testing.assert_close(theta, expected, rtol=0, atol=1e-12)


def test_without_a_pull_w_never_changes():
    assert torch.equal(moved(Envelope(0.0, 5, 0.1, 0.3), 3)[1], W)


def test_one_inner_step_of_size_one_over_lambda_is_a_gradient_step_of_w():
    _, w, _ = moved(Envelope(4.0, 1, 0.25, 0.05))
    torch.testing.assert_close(w, W - 0.05 * gradient(W), rtol=0, atol=1e-14)


def test_a_strong_pull_leaves_theta_at_w_and_w_follows_the_gradient():
    theta, w, _ = moved(Envelope(1e7, 3, 1e-7, 0.05))
    torch.testing.assert_close(theta, W, rtol=0, atol=1e-5)
    torch.testing.assert_close(w, W - 0.05 * gradient(W), rtol=0, atol=1e-5)


def test_theta_goes_on_from_the_batch_before():
    once, _, _ = moved(Envelope(1.0, 3, 0.1, 0.0), 2)
    longer, _, _ = moved(Envelope(1.0, 6, 0.1, 0.0), 1)
    torch.testing.assert_close(once, longer, rtol=0, atol=1e-15)


@pytest.mark.parametrize(("batches", "inner"), [(1, 1), (3, 5)])
def test_gradients_are_counted(batches, inner):
    assert moved(Envelope(1.0, inner, 0.1, 0.1), batches)[2].gradients == batches * inner
