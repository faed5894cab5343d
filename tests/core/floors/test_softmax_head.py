"""Logistic regression from zeros: uniform at first, blind to the order of samples, at its optimum in the end."""

import torch
from torch import nn

from pfedgp_core.floors.softmax_head import SoftmaxHead

GENERATOR = torch.Generator().manual_seed(2)
FEATURES = torch.randn(15, 4, generator=GENERATOR, dtype=torch.float64)
LABELS = torch.tensor([3, 5, 8] * 5)


def test_no_step_leaves_equal_probabilities():
    made = SoftmaxHead(FEATURES, LABELS, 0.5, 0).log_probabilities(FEATURES).exp()
    torch.testing.assert_close(made, torch.full((15, 3), 1 / 3, dtype=torch.float64))


def test_the_order_of_the_samples_does_not_matter():
    order = torch.randperm(15, generator=GENERATOR)
    one, other = SoftmaxHead(FEATURES, LABELS, 0.3, 50), SoftmaxHead(FEATURES[order], LABELS[order], 0.3, 50)
    torch.testing.assert_close(one.weight, other.weight, rtol=0, atol=1e-13)


def test_many_steps_reach_a_point_without_slope():
    made = SoftmaxHead(FEATURES, LABELS, 0.5, 5000, 0.1)
    weight, bias = (t.clone().requires_grad_() for t in (made.weight, made.bias))
    places = torch.searchsorted(torch.tensor([3, 5, 8]), LABELS)
    loss = nn.functional.cross_entropy(FEATURES @ weight.T + bias, places) + 0.05 * weight.square().sum()
    slopes = torch.autograd.grad(loss, [weight, bias])
    assert max(float(s.abs().max()) for s in slopes) < 1e-10
