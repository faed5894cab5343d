"""A node whose latents have a prior mean: the algebra by its definition, padding, gradients, and the sampler."""

import math
from collections import Counter

import pytest
import torch
from torch import Tensor

from pfedgp_core.gp import gibbs
from pfedgp_core.gp.full import FullGP
from pfedgp_core.gp.padded import PaddedGPs
from pfedgp_core.gp.prediction_cache import CachedNode
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.numerics.streams import Stream

KERNEL = make_kernel("rbf", 4.0, 1.0)
JITTER = 1e-3


def points(n: int, seed: int) -> Tensor:
    rows = torch.randn(n, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.nn.functional.normalize(rows)


def means(n: int, seed: int) -> Tensor:
    return torch.randn(n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def node(n: int, seed: int = 0, mean: Tensor | None = None, solver: str = "dense") -> FullGP:
    return FullGP(KERNEL, points(n, seed), torch.arange(n) % 2, JITTER, Counter(), solver, mean=mean)


def draws(n: int, chains: int = 3) -> Tensor:
    rows = torch.rand(chains, n, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    return 0.05 + 0.2 * rows


@pytest.mark.parametrize("solver", ["dense", "iterative"])
def test_a_latent_is_predicted_as_by_regression_on_pseudo_targets_less_their_means(solver: str) -> None:
    gp, omega, new = node(7, mean=means(7, 1), solver=solver), draws(7), points(5, 2)
    mu, _ = gp.predict(new, omega)
    cross, _ = gp.cross(new)
    for weights, found in zip(omega, mu, strict=True):
        targets = gp.kappa / weights - means(7, 1)
        expected = cross.T @ torch.linalg.solve(gp.gram + torch.diag(1 / weights), targets)
        torch.testing.assert_close(found, expected, atol=2e-3, rtol=0)


def test_posterior_and_marginal_likelihood_are_those_of_the_definition() -> None:
    gp, omega, mean = node(6, mean=means(6, 1)), draws(6), means(6, 1)
    mu, covariance = gp.posterior(omega)
    log_marginal = gp.log_marginal(omega)
    for c, weights in enumerate(omega):
        sigma = torch.linalg.inv(torch.linalg.inv(gp.gram) + torch.diag(weights))
        torch.testing.assert_close(covariance[c], sigma, atol=1e-9, rtol=0)
        torch.testing.assert_close(mu[c], sigma @ (torch.linalg.solve(gp.gram, mean) + gp.kappa), atol=1e-9, rtol=0)
        law = torch.distributions.MultivariateNormal(mean, gp.gram + torch.diag(1 / weights))
        sites = (gp.kappa.square() / (2 * weights) + 0.5 * (2 * math.pi / weights).log() - math.log(2.0)).sum()
        torch.testing.assert_close(log_marginal[c], law.log_prob(gp.kappa / weights) + sites, atol=1e-9, rtol=0)


def test_a_point_left_out_is_predicted_as_by_the_node_without_it() -> None:
    mean, omega, keep = means(7, 1), draws(7), [0, 1, 3, 4, 5, 6]
    mu, v = node(7, mean=mean).leave_one_out(omega)
    inputs = points(7, 0)
    without = FullGP(KERNEL, inputs[keep], torch.arange(7)[keep] % 2, JITTER, solver="dense", mean=mean[keep])
    expected_mu, expected_v = without.predict(inputs[2:3], omega[:, keep])
    torch.testing.assert_close(mu[:, 2], expected_mu[:, 0] + mean[2], atol=1e-9, rtol=0)
    torch.testing.assert_close(v[:, 2], expected_v[:, 0], atol=1e-9, rtol=0)


@pytest.mark.parametrize("solver", ["dense", "iterative"])
def test_padded_nodes_and_kept_weights_are_those_of_each_node_alone(solver: str) -> None:
    alone = [node(n, n, means(n, n), solver) for n in (8, 5)]
    together = PaddedGPs(alone, Counter())
    omega = torch.stack([torch.nn.functional.pad(draws(n), (0, 8 - n)) for n in (8, 5)])
    targets = [points(3, 20), points(4, 21)]
    moments, cavities = together.predict(targets, omega), together.leave_one_out(omega)
    for i, gp in enumerate(alone):
        own = omega[i, :, : len(gp.kappa)]
        torch.testing.assert_close(moments[i][0], gp.predict(targets[i], own)[0], atol=2e-3, rtol=0)
        torch.testing.assert_close(cavities[i][0], gp.leave_one_out(own)[0], atol=2e-3, rtol=0)
        torch.testing.assert_close(moments[i][0], CachedNode(gp, own).moments(targets[i])[0], atol=2e-3, rtol=0)


@pytest.mark.parametrize("n", [6, 100])  # by inverses, and by triangular solves
def test_gradients_in_the_mean_are_those_of_differences(n: int) -> None:
    omega, new = draws(n, 2), points(3, 2)
    mean = means(n, 1).requires_grad_()
    inputs = points(n, 0).requires_grad_()

    def values(at: Tensor) -> Tensor:
        gp = FullGP(KERNEL, inputs, torch.arange(n) % 2, JITTER, solver="dense", mean=at)
        return (
            gp.predict(new, omega)[0].sum() + gp.leave_one_out(omega)[0].square().sum() + gp.log_marginal(omega).sum()
        )

    (gradient,) = torch.autograd.grad(values(mean), mean)
    for i in (0, 3):
        step = torch.zeros(n, dtype=torch.float64)
        step[i] = 1e-5
        with torch.no_grad():
            slope = (values(mean + step) - values(mean - step)) / 2e-5
        torch.testing.assert_close(gradient[i], slope, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("solver", ["dense", "iterative"])
def test_the_sampler_has_the_law_of_one_latent_by_quadrature(solver: str) -> None:
    """p(f | y = 1) for n = 1, f ~ N(m, k): mean and variance of many chains against sums over a fine grid."""
    gp = FullGP(KERNEL, points(1, 0), torch.ones(1), JITTER, Counter(), solver, mean=torch.tensor([1.5]).double())
    k = float(gp.gram)
    grid = torch.linspace(-12, 12, 20001, dtype=torch.float64)
    density = torch.sigmoid(grid) * torch.exp(-((grid - 1.5) ** 2) / (2 * k))
    density /= density.sum()
    centre = float((density * grid).sum())
    spread = float((density * (grid - centre) ** 2).sum())
    f = gibbs.run(gp, 20000, 15, Stream(3)).f[:, 0]
    assert float(f.mean()) == pytest.approx(centre, abs=4 * math.sqrt(spread / 20000))
    assert float(f.var()) == pytest.approx(spread, rel=0.06)


def test_a_mean_of_zeros_is_no_mean_to_the_bit() -> None:
    some, none = (gibbs.run(node(9, mean=mean), 4, 3, Stream(1)) for mean in (torch.zeros(9).double(), None))
    assert torch.equal(some.f, none.f)
    assert torch.equal(some.omega, none.omega)
