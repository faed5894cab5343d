"""The pull towards a point: its step, its penalty, and that none is none to the bit."""

import torch

from pfedgp_core.learning.proximal import ProximalSGD
from pfedgp_core.learning.sgd import SGD

START, ANCHOR = torch.tensor([1.0, -2.0, 0.5]), torch.tensor([0.0, 1.0, 0.5])
GRADIENT = torch.tensor([0.3, 0.1, -0.7])


def stepped(make, steps: int = 1) -> torch.Tensor:
    p = START.clone()
    optimiser = make([p])
    for _ in range(steps):
        p.grad = GRADIENT.clone()
        optimiser.step()
    return p


def test_a_step_follows_gradient_and_pull():
    moved = stepped(lambda p: ProximalSGD(p, [ANCHOR], 2.0, 0.1))
    torch.testing.assert_close(moved, START - 0.1 * (GRADIENT + 2.0 * (START - ANCHOR)))


def test_a_strength_for_each_value():
    strength = torch.tensor([0.0, 1.0, 5.0])
    moved = stepped(lambda p: ProximalSGD(p, [ANCHOR], [strength], 0.1))
    torch.testing.assert_close(moved, START - 0.1 * (GRADIENT + strength * (START - ANCHOR)))


def test_no_strength_is_sgd_to_the_bit():
    pulled = stepped(lambda p: ProximalSGD(p, [ANCHOR], 0.0, 0.1, 0.9, 0.01), 3)
    assert torch.equal(pulled, stepped(lambda p: SGD(p, 0.1, 0.9, 0.01), 3))


def test_the_penalty_has_the_pull_as_its_gradient():
    p = START.clone().requires_grad_()
    optimiser = ProximalSGD([p], [ANCHOR], 2.0, 0.1)
    assert optimiser.penalty() == float((p.detach() - ANCHOR).square().sum())
