"""Leave-one-out: the cavities are the node without the point, the harmonic mean is the exact p(y_i | y_-i)."""

import math
from collections import Counter

import pytest
import torch

from pfedgp_core.certificate.evidence import exact_posterior
from pfedgp_core.gp import dense
from pfedgp_core.gp.fitc import FITC
from pfedgp_core.gp.full import FullGP
from pfedgp_core.gp.leave_one_out import full_cavity, left_out_sides
from pfedgp_core.gp.padded import PaddedGPs
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.numerics.quadrature import log_sigmoid_expectation
from pfedgp_core.numerics.streams import Stream


def points(n: int, seed: int = 0) -> torch.Tensor:
    return unit_sphere(torch.randn(n, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64))


def problem(n: int, chains: int = 4) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Inputs [n, 3], labels [n] and omega [chains, n]."""
    generator = torch.Generator().manual_seed(n)
    labels = torch.rand(n, generator=generator) < 0.5
    return points(n, n), labels, 0.01 + 0.3 * torch.rand(chains, n, generator=generator, dtype=torch.float64)


def others(n: int, i: int) -> torch.Tensor:
    return torch.arange(n) != i


@pytest.mark.parametrize("scale", [8.0, 2048.0])
@pytest.mark.parametrize("n", [2, 15])
def test_the_cavity_of_a_full_gp_is_the_prediction_from_the_other_points(n: int, scale: float) -> None:
    X, y, omega = problem(n)
    kernel = make_kernel("rbf", scale, 1.0)
    mu, v = FullGP(kernel, X, y, 1e-3, solver="dense").leave_one_out(omega)
    for i in range(n):
        kept = others(n, i)
        rest = FullGP(kernel, X[kept], y[kept], 1e-3, solver="dense")
        expected = rest.predict(X[i, None], omega[:, kept])
        torch.testing.assert_close((mu[:, i, None], v[:, i, None]), expected, atol=1e-8, rtol=1e-8)


def test_a_point_without_others_has_the_prior() -> None:
    X, y, omega = problem(1)
    mu, v = FullGP(make_kernel("rbf", 8.0, 1.0), X, y, 1e-3, solver="dense").leave_one_out(omega)
    torch.testing.assert_close(mu, torch.zeros_like(mu), atol=1e-12, rtol=0)
    torch.testing.assert_close(v, torch.full_like(v, 8.001))


@pytest.mark.parametrize("M", [3, 8, 40])
def test_the_cavity_through_inducing_inputs_is_the_prediction_from_the_other_points(M: int) -> None:
    """Both forms of the node: with fewer inducing inputs than points, and with more."""
    X, y, omega = problem(12)
    kernel, inducing = make_kernel("rbf", 8.0, 0.7), points(M, 100)
    mu, v = FITC(kernel, X, y, inducing, 1e-3).leave_one_out(omega)
    for i in range(len(X)):
        kept = others(len(X), i)
        expected = FITC(kernel, X[kept], y[kept], inducing, 1e-3).predict(X[i, None], omega[:, kept])
        torch.testing.assert_close((mu[:, i, None], v[:, i, None]), expected, atol=1e-8, rtol=1e-8)


@pytest.mark.parametrize("M", [0, 8])
def test_one_variance_for_all_chains_moves_probabilities_little(M: int) -> None:
    X, y, _ = problem(120)
    kernel, found, omega = make_kernel("rbf", 8.0, 1.0), [], None
    for solver in ("dense", "iterative"):
        gp = FITC(kernel, X, y, points(M, 9), 1e-3, solver=solver) if M else FullGP(kernel, X, y, 1e-3, solver=solver)
        omega = gp.sample_omega(50, 5, Stream(3)) if omega is None else omega
        found.append(log_sigmoid_expectation(*gp.leave_one_out(omega))[0].exp().mean(0))
    assert (found[0] - found[1]).abs().max() < 0.01


@pytest.mark.parametrize("solver", ["dense", "iterative"])
def test_padded_nodes_have_their_own_cavities(solver: str) -> None:
    kernel = make_kernel("rbf", 8.0, 0.7)
    alone = [FullGP(kernel, points(n, n), torch.arange(n) % 2, 1e-3, solver=solver) for n in (9, 4, 6)]
    together = PaddedGPs(alone, Counter())
    omega = (0.02 + 0.3 * torch.rand(3, 5, 9, dtype=torch.float64)) * together.real[:, None]
    for gp, draw, moments in zip(alone, together.split(omega), together.leave_one_out(omega), strict=True):
        tolerance = 1e-9 if solver == "dense" else 2e-3
        torch.testing.assert_close(moments, gp.leave_one_out(draw), atol=tolerance, rtol=tolerance)


def test_gradients_of_the_cavity() -> None:
    X, y, omega = problem(5, chains=2)

    def cavity(X: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return full_cavity(make_kernel("rbf", 8.0, 1.0).gram(X, 1e-3), omega, y.double() - 0.5)

    assert torch.autograd.gradcheck(cavity, (X.requires_grad_(),))


def test_chains_are_taken_in_parts_with_the_values_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, omega = problem(7, chains=6)
    K, kappa = make_kernel("rbf", 8.0, 1.0).gram(X, 1e-3), y.double() - 0.5
    whole = full_cavity(K, omega, kappa)
    monkeypatch.setattr("pfedgp_core.gp.leave_one_out.CHUNK_BYTES", 6 * K.nbytes + 1)
    torch.testing.assert_close(full_cavity(K, omega, kappa), whole)


@pytest.mark.parametrize("scale", [8.0, 128.0])
def test_float32_has_the_probabilities_of_float64(scale: float) -> None:
    X, y, omega = problem(40)
    found = []
    for dtype in (torch.float64, torch.float32):
        gp = FullGP(make_kernel("rbf", scale, 1.0), X.to(dtype), y, 1e-3, solver="dense")
        mu, v = gp.leave_one_out(omega.to(dtype))
        found.append(log_sigmoid_expectation(mu.double(), v.double(), 128)[0].exp())
    assert (found[0] - found[1]).abs().max() < 2e-4


@pytest.mark.slow
@pytest.mark.parametrize("labels", [(1, 0, 1), (1, 1, 1), (0, 0, 1)])
def test_the_harmonic_mean_is_the_exact_probability_without_the_own_label(labels: tuple[int, ...]) -> None:
    """p(y_i | y_-i) = p(y) / p(y_-i), both by dense integration; 40 000 chains leave an error of about .0003."""
    X, y = points(3, 5), torch.tensor(labels)
    gp = FullGP(make_kernel("rbf", 8.0, 1.0), X, y, 1e-3, solver="dense")
    omega = gp.sample_omega(40_000, 30, Stream(0))
    left, right = log_sigmoid_expectation(*gp.leave_one_out(omega))
    on_left = y > 0
    own, other = left_out_sides(torch.where(on_left, left, right), torch.where(on_left, right, left))
    torch.testing.assert_close(own.exp() + other.exp(), torch.ones(3, dtype=torch.float64), atol=1e-6, rtol=0)
    K = gp.gram
    for i in range(3):
        kept = others(3, i)
        without = exact_posterior(K[kept][:, kept], y[kept]).log_evidence
        exact = math.exp(exact_posterior(K, y).log_evidence - without)
        assert own[i].exp().item() == pytest.approx(exact, abs=0.002)


def test_a_cavity_does_not_depend_on_the_own_omega() -> None:
    X, y, omega = problem(6)
    K, kappa = make_kernel("rbf", 8.0, 1.0).gram(X, 1e-3), y.double() - 0.5
    moved = omega.clone()
    moved[:, 2] *= 7
    (mu, v), (moved_mu, moved_v) = full_cavity(K, omega, kappa), full_cavity(K, moved, kappa)
    torch.testing.assert_close((moved_mu[:, 2], moved_v[:, 2]), (mu[:, 2], v[:, 2]), atol=1e-9, rtol=1e-9)
    posterior_mean, _ = dense.posterior(K, moved, kappa)
    assert (posterior_mean - dense.posterior(K, omega, kappa)[0])[:, 2].abs().max() > 0.1
