"""FITC by conjugate gradients: exact enough, and factorised where they do not converge."""

from collections import Counter

import pytest
import torch

from experiments.solver_accuracy import overlapping
from pfedgp_core.gp import fitc_algebra, fitc_gibbs, fitc_solver
from pfedgp_core.gp.fitc import FITC
from pfedgp_core.gp.links import node_log_probabilities
from pfedgp_core.gp.prediction_cache import CachedNode
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.numerics.quadrature import log_sigmoid_expectation
from pfedgp_core.numerics.streams import Stream


def problem(n, M, T=5, chains=4, dtype=torch.float64, seed=0):
    """Random X [n, 3], labels [n], inducing [M, 3], test inputs [T, 3] and omega [chains, n]."""
    generator = torch.Generator().manual_seed(seed)
    X, Z, Xs = (unit_sphere(torch.randn(k, 3, generator=generator, dtype=dtype)) for k in (n, M, T))
    y = torch.rand(n, generator=generator) < 0.5
    return X, y, Z, Xs, 0.01 + 0.3 * torch.rand(chains, n, generator=generator, dtype=dtype)


def node(n, M, dtype=torch.float64):
    """Two overlapping clusters, with the omegas a trained client would have."""
    generator = torch.Generator().manual_seed(5)
    y = torch.arange(n) % 2 == 0
    centres = torch.randn(2, 20, generator=generator, dtype=dtype)
    X = unit_sphere(centres[y.long()] + 0.9 * torch.randn(n, 20, generator=generator, dtype=dtype))
    return X, y, unit_sphere(X[:M] + 0.05 * torch.randn(M, 20, generator=generator, dtype=dtype))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_conjugate_gradients_solve_what_they_claim(dtype):
    X, y, Z = node(300, 80, dtype)
    model = FITC(make_kernel("rbf"), X, y, Z, 1e-3)
    omega = model.sample_omega(8, 3, Stream(3, "cg"))
    (A, d), b = model._constants, Stream(4, "b").normal(8, 80, dtype=dtype)
    g, h = fitc_algebra.weights(d, omega, model.kappa)
    L, _ = fitc_algebra.factorise(A, g, h)
    b = (L.tril() @ b[..., None])[..., 0] + h @ A.T
    exact = torch.cholesky_solve(b[..., None], L)[..., 0]
    counters = Counter()
    error = fitc_solver.solve(A, g, b, model._preconditioner, counters=counters) - exact
    in_deviations = (L.tril().mT @ error[..., None])[..., 0].square().mean(1).sqrt()
    assert float(in_deviations.max()) < 3e-3
    assert not counters


def test_chains_that_do_not_converge_are_factorised_and_counted(monkeypatch):
    monkeypatch.setattr(fitc_solver, "MOST_ITERATIONS", 1)
    X, y, Z = node(60, 20)
    model = FITC(make_kernel("rbf"), X, y, Z, 1e-3, counters := Counter(), solver="iterative")
    omega = model.sample_omega(4, 2, Stream(3, "cg"))
    (A, d), g = model._constants, None
    g, h = fitc_algebra.weights(d, omega, model.kappa)
    _, u = fitc_algebra.factorise(A, g, h)
    torch.testing.assert_close(fitc_solver.solve(A, g, h @ A.T, model._preconditioner), u)
    assert counters["cg_fallback"] == 8
    model.predict(X, omega)
    assert counters["cg_fallback"] == 12


def test_a_chain_that_is_not_finite_is_redrawn_and_spares_the_others():
    X, y, Z = node(60, 20)
    model = FITC(make_kernel("rbf"), X, y, Z, 1e-3)
    omega = model.sample_omega(4, 2, Stream(3, "nan"))
    clean, _ = model.draw_latents(omega, Stream(4, "draw"))
    omega[1, 7] = torch.nan
    broken, prior = model.draw_latents(omega, Stream(4, "draw"))
    assert bool(torch.isnan(broken[1]).all())
    assert bool(torch.isfinite(prior).all())
    keep = torch.tensor([0, 2, 3])
    torch.testing.assert_close(broken[keep], clean[keep], rtol=1e-6, atol=1e-6)


def test_iterative_prediction_agrees_with_the_exact_one():
    X, y, Z = node(400, 60)
    train, test = X[:200].requires_grad_(), X[200:]
    kernel = make_kernel("rbf")
    exact = FITC(kernel, train, y[:200], Z, 1e-3)
    fast = FITC(kernel, train, y[:200], Z, 1e-3, solver="auto")
    assert fast.iterative
    assert not exact.iterative
    omega = exact.sample_omega(30, 5, Stream(8, "iterative"))
    (mu, v), (fast_mu, fast_v) = exact.predict(test, omega), fast.predict(test, omega)
    torch.testing.assert_close(fast_mu, mu, rtol=0, atol=2e-3)
    p, fast_p = (log_sigmoid_expectation(m, s)[0].exp().mean(0) for m, s in ((mu, v), (fast_mu, fast_v)))
    assert float((p - fast_p).detach().abs().max()) < 3e-3
    g, fast_g = (torch.autograd.grad(m.sin().sum(), train)[0] for m in (mu, fast_mu))
    assert float((g - fast_g).norm() / g.norm()) < 1e-3


@pytest.mark.parametrize(("scale", "largest"), [(8.0, 5e-4), (32.0, 1e-3), (128.0, 2e-3)])
def test_every_chain_has_its_own_variance_where_nothing_is_trained(scale: float, largest: float) -> None:
    points, labels = overlapping(250, 1)
    nodes = [
        FITC(make_kernel("rbf", scale), points[:150], labels[:150], points[:40], 1e-3, solver=solver)
        for solver in ("dense", "iterative")
    ]
    omega = nodes[0].sample_omega(30, 5, Stream(8, "iterative"))
    with torch.no_grad():
        (mu, v), found = (node.predict(points[150:], omega) for node in nodes)
        _, shared = nodes[0].predict(points[150:], omega.mean(0, keepdim=True))
        wanted = node_log_probabilities(mu, v)[0].exp()
        far, near = (
            (node_log_probabilities(*moments)[0].exp() - wanted).abs().max()
            for moments in ((mu, shared.expand_as(v)), found)
        )
        cached = CachedNode(nodes[1], omega).moments(points[150:])
    assert near < min(largest, far / 2)
    torch.testing.assert_close(cached[1], found[1])


def test_chunks_of_chains_do_not_change_results(monkeypatch):
    X, y, Z, Xs, omega = problem(40, 20, chains=7)
    results = []
    for size in (2**28, 1):
        monkeypatch.setattr(fitc_algebra, "CHUNK_BYTES", size)
        leaf = X.clone().requires_grad_()
        model = FITC(make_kernel("rbf"), leaf, y, Z, 1e-3)
        mu, v = model.predict(Xs, omega)
        evidence = model.log_marginal(omega)
        (mu.sum() + v.sum() + evidence.sum()).backward()
        results.append((mu, v, evidence, leaf.grad))
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b)


def test_draws_by_factorisation_equal_those_by_conjugate_gradients():
    X, y, Z, _, omega = problem(150, 30)
    model = FITC(make_kernel("rbf"), X, y, Z, 1e-3)
    A, d = model._constants
    draws = [
        fitc_gibbs.draw_latents(A, d, start, omega, model.kappa, Stream(3, "draw"))[0]
        for start in (None, model._preconditioner)
    ]
    assert (draws[0] - draws[1]).abs().max() < 0.02  # the draws themselves have standard deviations near 1
