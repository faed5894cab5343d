"""FOLA's client and server: the precision that grows, the prior that pulls, and the product of Gaussians."""

import numpy as np
import pytest
import torch

from pfedgp_core.learning.local_sgd import local_sgd
from pfedgp_core.learning.online_laplace import Gaussian, LaplaceSGD, Prior, Weighted, laplace_sgd, product
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.learning.sgd import SGD

RNG = np.random.default_rng(4)
MEANS, PRECISIONS = RNG.normal(size=(3, 6)), RNG.uniform(0.5, 2.0, size=(3, 6))
SHARES = np.array([0.5, 0.2, 0.3])
START = torch.tensor([0.3, -0.8], dtype=torch.float64)
TARGETS = [torch.tensor(t, dtype=torch.float64) for t in ((1.0, 2.0), (-1.0, 0.5))]


def gaussians(precisions: np.ndarray) -> list[Gaussian]:
    return [Gaussian(*each) for each in zip(SHARES, MEANS, precisions, strict=True)]


def trained(precision: float, strength: float, rate: float = 0.1):
    """theta and its precision after a step on each of two batches that hold 3 and 1 of 4 samples."""
    theta = START.clone().requires_grad_()
    prior = Prior([START], [torch.full_like(START, precision)], strength)
    optimiser, result = LaplaceSGD([theta], prior, rate), UpdateResult()
    losses = [lambda t=t: 0.5 * (theta - t).square().sum() for t in TARGETS]
    laplace_sgd([theta], map(Weighted, (0.75, 0.25), losses), optimiser, 1e9, result)
    return theta.detach(), optimiser.precisions[0]


def test_a_precision_grows_by_the_squared_gradient_before_each_step():
    _, precision = trained(0.5, 0.0)
    after = START - 0.1 * (START - TARGETS[0])
    expected = 0.5 + 0.75 * (START - TARGETS[0]) ** 2 + 0.25 * (after - TARGETS[1]) ** 2
    torch.testing.assert_close(precision, expected, rtol=0, atol=1e-14)


def test_the_pull_of_the_prior_is_not_in_the_precision():
    first = torch.full_like(START, 2.0) + 0.75 * (START - TARGETS[0]) ** 2
    moved = START - 0.1 * (START - TARGETS[0])
    second = first + 0.25 * (moved - TARGETS[1]) ** 2
    torch.testing.assert_close(trained(2.0, 3.0)[1], second, rtol=0, atol=1e-14)


def test_without_a_prior_the_steps_are_those_of_sgd_to_the_bit():
    theta = START.clone().requires_grad_()
    losses = [lambda t=t: 0.5 * (theta - t).square().sum() for t in TARGETS]
    local_sgd([theta], losses, SGD([theta], 0.1, 0.0, 0.0), 1e9, UpdateResult())
    assert torch.equal(trained(1.0, 0.0)[0], theta.detach())


def test_a_strong_prior_holds_theta_at_the_mean():
    theta, _ = trained(1.0, 1e6, rate=1e-6)
    torch.testing.assert_close(theta, START, rtol=0, atol=1e-5)


def test_equal_precisions_give_the_weighted_mean():
    mean, _ = product(gaussians(np.ones_like(MEANS)), 1e-15, False)
    np.testing.assert_allclose(mean, SHARES @ MEANS, atol=1e-12)


@pytest.mark.parametrize("keep", [True, False])
def test_the_mean_lies_between_those_of_the_clients(keep):
    mean, _ = product(gaussians(PRECISIONS), 1e-15, keep)
    assert (mean >= MEANS.min(axis=0) - 1e-12).all()
    assert (mean <= MEANS.max(axis=0) + 1e-12).all()


def test_the_precision_is_the_weighted_mean():
    np.testing.assert_allclose(product(gaussians(PRECISIONS), 1e-5, True)[1], SHARES @ PRECISIONS, rtol=1e-14)


@pytest.mark.parametrize(("keep", "part"), [(True, 1.0), (False, 0.0)])
def test_weights_that_no_gradient_touched(keep, part):
    mean, _ = product(gaussians(np.zeros_like(MEANS)), 1e-5, keep)
    np.testing.assert_allclose(mean, part * (SHARES @ MEANS), atol=1e-12)
