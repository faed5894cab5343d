"""The iterative solver against the dense one, which stays the reference."""

from collections import Counter

import pytest
import torch

from experiments.solver_accuracy import clusters, overlapping
from pfedgp_core.gp import dense, iterative
from pfedgp_core.gp.chain_variances import ChainVariances
from pfedgp_core.gp.full import FullGP
from pfedgp_core.gp.iterative import SWEPT_FROM
from pfedgp_core.gp.links import node_log_probabilities
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.numerics import conjugate_gradients
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.objectives import predictive_losses

KERNEL = make_kernel("rbf", 8.0, 1.0)


@pytest.fixture(scope="module")
def node():
    inputs, labels = clusters(300)
    gp = FullGP(KERNEL, inputs[:160], labels[:160], 1e-3, solver="dense")
    return gp, gp.sample_omega(20, 5, Stream(0, "omega")), inputs[160:], labels[160:] == 1


def test_pivoted_cholesky_reproduces_a_matrix_of_that_rank():
    root = torch.randn(4, 9, dtype=torch.float64)
    A = conjugate_gradients.pivoted_cholesky(root.T @ root, 9)
    assert A.shape == (4, 9)
    torch.testing.assert_close(A.T @ A, root.T @ root)


def test_solves_to_the_tolerance(node):
    gp, omega, _, _ = node
    d = omega.sqrt()
    solver = iterative.IterativeNode(gp.gram)
    b = torch.randn(20, 160)
    x = solver.solve(d, b, 1e-5)
    residual = b - x - d * ((d * x) @ gp.gram)
    assert (residual.norm(dim=1) / b.norm(dim=1)).max() < 2e-5


def test_draws_equal_the_dense_ones_for_the_same_noise(node):
    gp, omega, _, _ = node
    factor = torch.linalg.cholesky(gp.gram)
    exact, _ = dense.draw_latents(gp.gram, factor, omega, gp.kappa, Stream(1, "f"))
    fast, _ = iterative.IterativeNode(gp.gram).draw_latents(factor, omega, gp.kappa, Stream(1, "f"))
    assert (exact - fast).abs().max() < 0.05  # the draws themselves have a standard deviation near 1


def test_node_probabilities_stay_within_the_documented_distance(node):
    gp, omega, targets, _ = node
    fast = FullGP(KERNEL, gp.inputs, gp.kappa + 0.5, 1e-3, solver="iterative")
    mu, v = gp.predict(targets, omega)
    fast_mu, fast_v = fast.predict(targets, omega)
    torch.testing.assert_close(fast_mu, mu, atol=2e-3, rtol=0)
    difference = (node_log_probabilities(mu, v)[0].exp() - node_log_probabilities(fast_mu, fast_v)[0].exp()).abs()
    assert difference.mean() < 1e-3
    assert difference.max() < 1e-3


@pytest.mark.parametrize(("scale", "largest"), [(8.0, 4e-4), (32.0, 8e-4), (128.0, 1e-3)])
@pytest.mark.parametrize("n", [100, 150, 200])
@pytest.mark.parametrize("made", [clusters, overlapping])
def test_variances_of_one_factor_are_nearer_to_the_chains_own_than_that_at_their_mean(made, scale, largest, n):
    inputs, labels = made(n + 100, seed=n)
    kernel = make_kernel("rbf", scale, 1.0)
    exact, fast = (FullGP(kernel, inputs[:n], labels[:n], 1e-3, solver=solver) for solver in ("dense", "iterative"))
    omega = exact.sample_omega(30, 10, Stream(0, "omega"))
    mu, v = exact.predict(inputs[n:], omega)
    wanted = node_log_probabilities(mu, v)[0].exp()
    _, at_mean = exact.predict(inputs[n:], omega.mean(0, keepdim=True))
    far = (node_log_probabilities(mu, at_mean.expand_as(v))[0].exp() - wanted).abs().max()
    near = (node_log_probabilities(*fast.predict(inputs[n:], omega))[0].exp() - wanted).abs().max()
    assert near < min(largest, far / 3)


def variances(n=30, spread=1.0):
    """Variances of ten points by `ChainVariances` and by a factor a chain, and the chains' omega."""
    inputs, labels = clusters(n + 10, dtype=torch.float64)
    gp = FullGP(make_kernel("rbf", 32.0, 1.0), inputs[:n], labels[:n], 1e-3)
    omega = gp.sample_omega(8, 5, Stream(0, "omega"))
    omega = omega.mean(0) + spread * (omega - omega.mean(0))
    with torch.no_grad():
        found = ChainVariances.of(gp.gram, omega).at(*gp.cross(inputs[n:]))
    return found, gp.predict(inputs[n:], omega)[1], omega


def test_chains_that_agree_have_the_dense_variance():
    found, exact, _ = variances(spread=0.0)
    torch.testing.assert_close(found, exact)


def test_variances_are_right_to_first_order_in_how_chains_differ():
    errors = []
    for spread in (1e-2, 1e-3):
        found, exact, _ = variances(spread=spread)
        assert (exact - exact.mean(0)).abs().max() > 100 * (found - exact).abs().max()
        errors.append((found - exact).abs().max())
    assert errors[1] < 0.02 * errors[0]  # of second order: a hundredth


def test_a_change_of_one_point_s_omega_keeps_its_convexity():
    K = torch.tensor([[3.0]], dtype=torch.float64)
    omega = torch.tensor([[0.02], [0.1], [0.25]], dtype=torch.float64)
    made = ChainVariances.of(K, omega)
    mean = 1 / (1 / K + omega.mean())
    torch.testing.assert_close(mean - mean**2 * made.shifts, 1 / (1 / K + omega))
    assert (made.at(K, K[0]) > 0).all()


def test_gradient_of_the_loss_equals_the_dense_one(node):
    gp, omega, targets, left = node
    gradients = []
    for solver in ("dense", "iterative"):
        points = torch.cat([gp.inputs, targets]).requires_grad_()
        model = FullGP(KERNEL, points[:160], gp.kappa + 0.5, 1e-3, solver=solver)
        predictive_losses(*model.predict(points[160:], omega), left, 32).mean().backward()
        gradients.append(points.grad)
    assert (gradients[0] - gradients[1]).norm() < 0.02 * gradients[0].norm()


def test_marginal_objective_follows_the_dense_one(node):
    gp, omega, _, _ = node
    values, gradients = [], []
    for solver in ("dense", "iterative"):
        points = gp.inputs.clone().requires_grad_()
        value = FullGP(KERNEL, points, gp.kappa + 0.5, 1e-3, solver=solver).log_marginal(omega)
        value.mean().backward()
        values.append(value.detach())
        gradients.append(points.grad)
    assert (values[0].mean() - values[1].mean()).abs() < 0.01 * len(gp.inputs)  # log det is concave in omega
    assert (gradients[0] - gradients[1]).norm() < 0.03 * gradients[0].norm()


def test_gradient_of_the_mean_is_exact():
    inputs, labels = clusters(20, dtype=torch.float64)
    gp = FullGP(KERNEL, inputs[:12], labels[:12], 1e-3)
    omega = 0.05 + 0.2 * torch.rand(3, 12, dtype=torch.float64)
    solver = iterative.IterativeNode(gp.gram)
    K, K_star = (gp.gram / 2).requires_grad_(), KERNEL.cross(inputs[:12], inputs[12:]).requires_grad_()

    def mean(half, cross):
        return iterative._Mean.apply(half + half.T, cross, omega, gp.kappa, solver)

    # A finite difference moves K, but the preconditioner belongs to the unmoved one: the tolerance covers it.
    solver.solve = lambda d, b, tolerance, precondition=None: torch.linalg.solve(
        torch.eye(12, dtype=K.dtype) + d[:, :, None] * (K.detach() * 2) * d[:, None, :], b[..., None]
    )[..., 0]
    analytic = torch.autograd.grad(mean(K, K_star).sum(), (K, K_star))
    exact, _ = dense.predictive(K + K.T, K_star, torch.ones(8, dtype=K.dtype), omega, gp.kappa)
    for a, b in zip(analytic, torch.autograd.grad(exact.sum(), (K, K_star)), strict=True):
        torch.testing.assert_close(a, b, atol=1e-8, rtol=1e-8)


def test_no_convergence_falls_back_to_the_dense_path_and_is_counted(node, monkeypatch):
    gp, omega, targets, _ = node
    monkeypatch.setattr(iterative, "solve", lambda K, b, *_: (torch.full_like(b, torch.nan), False))
    counters = Counter()
    fast = FullGP(KERNEL, gp.inputs, gp.kappa + 0.5, 1e-3, counters, solver="iterative")
    mu, _ = fast.predict(targets, omega)
    torch.testing.assert_close(mu, gp.predict(targets, omega)[0], atol=1e-3, rtol=0)
    assert counters["cg_fallback"] == 1


def test_non_finite_right_hand_side_does_not_converge_and_does_not_hang(node):
    gp, omega, _, _ = node
    solver = iterative.IterativeNode(gp.gram)
    d = omega.sqrt()
    _, converged = conjugate_gradients.solve(gp.gram, torch.full_like(d, torch.nan), solver.preconditioner(d), 1e-3)
    assert not converged


def test_auto_is_dense_for_small_nodes_and_iterative_for_large_ones():
    inputs, labels = clusters(200)
    assert not FullGP(KERNEL, inputs[:40], labels[:40], 1e-3).iterative
    assert FullGP(KERNEL, inputs, labels, 1e-3).iterative
    assert not FullGP(KERNEL, inputs, labels, 1e-3, solver="dense").iterative
    assert not iterative.is_iterative("auto", torch.empty(200, 3, device="meta"))  # any device but a CPU


@pytest.mark.parametrize(("n", "swept"), [(SWEPT_FROM - 1, False), (SWEPT_FROM, True), (80, True)])
def test_sweeps_of_small_nodes_are_those_of_the_dense_path(node, n, swept):
    """Their predictions stay dense."""
    gp, omega, targets, _ = node
    exact, fast = (FullGP(KERNEL, gp.inputs[:n], gp.kappa[:n] + 0.5, 1e-3, solver=s) for s in ("dense", "auto"))
    draws = [each.draw_latents(omega[:, :n], Stream(1, "f"))[0] for each in (exact, fast)]
    spread = exact.posterior(omega[:, :n])[1].diagonal(dim1=-2, dim2=-1).sqrt()
    assert ((draws[0] - draws[1]).abs() / spread).square().mean().sqrt() < 0.01
    assert torch.equal(draws[0], draws[1]) is not swept
    assert torch.equal(exact.predict(targets, omega[:, :n])[0], fast.predict(targets, omega[:, :n])[0])
