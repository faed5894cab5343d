"""FITC: golden values, the right Gibbs step, both forms, gradients, degenerate inducing inputs."""

import pytest
import torch

from pfedgp_core.errors import DataError
from pfedgp_core.gp import fitc_algebra, gibbs
from pfedgp_core.gp.fitc import FITC
from pfedgp_core.gp.full import FullGP
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.numerics.quadrature import expected_log_sigmoid, log_sigmoid_expectation
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.registry import KERNELS

FIXED = ["fixed_fitc_a", "fixed_fitc_c", "fixed_fitc_eq_full"]


def build(inputs, dtype, dual=False, scales=(8.0, 1.0)):
    X, y, Z = (torch.tensor(inputs[key], dtype=dtype) for key in ("X", "y", "Xbar"))
    return forced(FITC(make_kernel("rbf", *scales), X, y, Z, inputs["tau"]), dual)


def forced(model, dual):
    model.dual = model.dual_draws = dual
    return model


def problem(n, M, T=5, chains=4, dtype=torch.float64, seed=0):
    """Random X [n, 3], labels [n], inducing [M, 3], test inputs [T, 3] and omega [chains, n]."""
    generator = torch.Generator().manual_seed(seed)
    X, Z, Xs = (unit_sphere(torch.randn(k, 3, generator=generator, dtype=dtype)) for k in (n, M, T))
    y = torch.rand(n, generator=generator) < 0.5
    return X, y, Z, Xs, 0.01 + 0.3 * torch.rand(chains, n, generator=generator, dtype=dtype)


@pytest.mark.parametrize("dual", [False, True])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("case_id", FIXED)
def test_golden_at_fixed_omega(golden, case_id, dtype, dual):
    case = golden.case(case_id)
    model = build(case["inputs"], dtype, dual)
    omega = torch.tensor(case["inputs"]["omega"], dtype=dtype)[None]
    mu, v = model.predict(torch.tensor(case["inputs"]["Xs"], dtype=dtype), omega)
    (f_mean, f_cov), (fbar_mean, fbar_cov) = model.posterior(omega), model.inducing_posterior(omega)
    got = {
        "mu_star": mu,
        "v_star": v,
        "f_mean": f_mean,
        "f_cov": f_cov,
        "fbar_mean": fbar_mean,
        "fbar_cov": fbar_cov,
        "log_p_y_omega": model.log_marginal(omega),
        "p_left": log_sigmoid_expectation(mu, v, 32)[0].exp(),
        "E_log_sigma(f*)": expected_log_sigmoid(mu, v, 32)[0],
    }
    asserts = {a["name"]: a for a in case["asserts"] if a["kind"] == "exact"}
    assert got.keys() == asserts.keys()
    for name, a in asserts.items():
        tolerance = a["atol"] if dtype == torch.float64 else a.get("atol_float32", a["atol"])
        tolerance = 2e-5 if name == "p_left" else tolerance
        value = torch.tensor(a["value"], dtype=torch.float64)
        torch.testing.assert_close(
            got[name][0].double(), value, rtol=0, atol=tolerance, msg=lambda m, n=name: f"{n}: {m}"
        )


@pytest.mark.slow
@pytest.mark.parametrize("dual", [False, True])
def test_gibbs_reaches_the_exact_posterior(golden, dual):
    """E f and Cov f separate the right step from the printed one; the predictive hardly does."""
    case = golden.case("exact_fitc3")
    asserts = {a["name"]: a for a in case["asserts"]}
    logs = torch.tensor([8.0, 1.0], dtype=torch.float64).log().requires_grad_()
    model = build(case["inputs"], torch.float64, dual, tuple(logs.exp()))
    f, omega, _ = gibbs.run(model, 20000, 60, Stream(7, "exact", int(dual)))
    mu, v = model.predict(torch.tensor(case["inputs"]["Xs"], dtype=torch.float64), omega)
    log_left, _ = log_sigmoid_expectation(mu, v, 32)
    (gradient,) = torch.autograd.grad(model.log_marginal(omega).mean(), logs)
    got = {
        "E f (training latents)": f.mean(0),  # the draws themselves: moments given omega would hide a wrong step
        "Cov f": f.T.cov(),
        "p_left": log_left.exp().mean(0),
        "E f* = mean_c mu_c": mu.mean(0),
        "Var f*": v.mean(0) + mu.var(0, correction=0),
        "d log p(y)/d[log outputscale, log lengthscale] (tau fixed)": gradient,
    }
    for name, value in got.items():
        expected = torch.tensor(asserts[name]["value"], dtype=torch.float64)
        torch.testing.assert_close(
            value, expected, rtol=0, atol=asserts[name]["atol"], msg=lambda m, n=name: f"{n}: {m}"
        )


@pytest.mark.parametrize("dual", [False, True])
@pytest.mark.parametrize("repeated", [False, True])
def test_draws_at_fixed_omega_have_the_moments_of_the_posterior(dual, repeated):
    X, y, Z, _, omega = problem(6, 4, chains=1)
    model = forced(FITC(make_kernel("rbf"), X, y, torch.cat([Z, Z]) if repeated else Z, 1e-3), dual)
    mean, covariance = model.posterior(omega)
    f, f0 = model.draw_latents(omega.expand(40000, -1), Stream(1, "moments", int(dual)))
    for draws, m, S in ((f, mean[0], covariance[0]), (f0, torch.zeros_like(mean[0]), model.gram)):
        scale = S.diagonal().sqrt()
        assert float(((draws.mean(0) - m) / scale).abs().max()) < 0.025
        assert float(((draws.T.cov() - S) / scale / scale[:, None]).abs().max()) < 0.04
    prior = model.draw_prior(40000, Stream(2, "prior"))
    assert float((prior.T.cov() - model.gram).abs().max()) < 0.04 * 8


@pytest.mark.parametrize("dual", [False, True])
def test_the_prior_itself_is_drawn_where_omega_is_zero(dual):
    """No 1/omega: with omega = 0 and kappa removed, the posterior is the prior."""
    X, y, Z, Xs, omega = problem(6, 4)
    model = forced(FITC(make_kernel("rbf"), X, y, Z, 1e-3), dual)
    model.kappa = torch.zeros_like(model.kappa)
    mu, v = model.predict(Xs, torch.zeros_like(omega))
    torch.testing.assert_close(mu, torch.zeros_like(mu))
    torch.testing.assert_close(v, torch.full_like(v, 8.001), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dual", [False, True])
@pytest.mark.parametrize("n", [1, 7, 90])
def test_inducing_at_the_inputs_without_jitter_is_the_full_gp(n, dual):
    X, y, _, Xs, omega = problem(n, 1, seed=n)
    kernel = make_kernel("matern32")  # well conditioned without jitter
    fitc = forced(FITC(kernel, X, y, X, 0.0), dual)
    full = FullGP(kernel, X, y, 0.0, solver="dense")
    for a, b in zip(
        (*fitc.predict(Xs, omega), fitc.log_marginal(omega)),
        (*full.predict(Xs, omega), full.log_marginal(omega)),
        strict=True,
    ):
        torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kept_bytes", [0, 2**26])
@pytest.mark.parametrize(("n", "M", "T"), [(9, 5, 4), (4, 9, 4), (150, 70, 130), (1, 1, 1), (3, 2, 0)])
@pytest.mark.parametrize("name", KERNELS)
def test_both_forms_agree_with_their_gradients(name, n, M, T, kept_bytes, monkeypatch):
    monkeypatch.setattr(fitc_algebra, "KEPT_BYTES", kept_bytes)
    monkeypatch.setattr(fitc_algebra, "BLOCK_BYTES", 2**12)  # several blocks even here
    X, y, Z, Xs, omega = problem(n, M, T)
    leaves = [t.clone().requires_grad_() for t in (X, Z, Xs, torch.tensor(8.0).double(), torch.tensor(1.1).double())]
    results = []
    for dual in (False, True):
        model = forced(FITC(make_kernel(name, *leaves[3:]), leaves[0], y, leaves[1], 1e-2), dual)
        mu, v = model.predict(leaves[2], omega)
        weight = torch.linspace(-1, 2, mu.numel(), dtype=mu.dtype).view_as(mu)
        evidence = model.log_marginal(omega)
        total = (weight * mu).sum() + (weight.square() * v).sum() + (evidence * torch.arange(4)).sum()
        results.append((mu, v, evidence, *torch.autograd.grad(total, leaves, allow_unused=True)))
    for a, b in zip(*results, strict=True):
        if a is not None or b is not None:
            torch.testing.assert_close(a, b, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("dual", [False, True])
@pytest.mark.parametrize("shapes", [(6, 4, 3), (3, 5, 2)])
def test_gradients_of_all_inputs_and_scales(shapes, dual):
    X, y, Z, Xs, omega = problem(*shapes)
    scales = [torch.tensor(v, dtype=torch.float64) for v in (4.0, 1.2)]

    def function(X, Z, Xs, scale, length):
        model = forced(FITC(make_kernel("rbf", scale, length), X, y, Z, 1e-2), dual)
        return *model.predict(Xs, omega), model.log_marginal(omega)

    assert torch.autograd.gradcheck(function, tuple(t.clone().requires_grad_() for t in (X, Z, Xs, *scales)))


def test_closed_forms_match_autograd_through_the_textbook_formulas():
    X, y, Z, Xs, omega = problem(8, 3)
    leaves = [t.clone().requires_grad_() for t in (X, Z, Xs)]
    kernel, jitter, kappa = make_kernel("rbf"), 1e-3, y.double() - 0.5
    Kmm, Kmn, Kms = (
        kernel.gram(leaves[1], jitter),
        kernel.cross(leaves[1], leaves[0]),
        kernel.cross(leaves[1], leaves[2]),
    )
    Q, Qs, Qss = Kmn.T @ torch.linalg.solve(Kmm, Kmn), Kmn.T @ torch.linalg.solve(Kmm, Kms), 8 + jitter
    K = Q + torch.diag(8 + jitter - Q.diagonal())
    C = K + torch.diag_embed(1 / omega)
    mu = torch.linalg.solve(C, kappa / omega) @ Qs
    v = Qss - (Qs * torch.linalg.solve(C, Qs.expand(4, 8, 5))).sum(1)
    normal = torch.distributions.MultivariateNormal(torch.zeros_like(omega), C)
    z = kappa / omega
    fixed = 0.5 * (kappa * z + (2 * torch.pi / omega).log()).sum(1) - 8 * torch.tensor(2.0).double().log()
    expected = mu, v, normal.log_prob(z) + fixed
    model = FITC(kernel, leaves[0], y, leaves[1], jitter)
    got = *model.predict(leaves[2], omega), model.log_marginal(omega)
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a, b)
        for ga, gb in zip(
            *(torch.autograd.grad(t.sin().sum(), leaves, retain_graph=True, allow_unused=True) for t in (a, b)),
            strict=True,
        ):
            assert (ga is None) == (gb is None)
            if ga is not None:
                torch.testing.assert_close(ga, gb)


@pytest.mark.parametrize(("n", "M"), [(12, 5), (6, 20)])
def test_projecting_the_targets_with_the_inputs_changes_nothing(n, M):
    X, y, Z, Xs, omega = problem(n, M)
    kernel, results = make_kernel("rbf"), []
    for together in (False, True):
        leaves = [t.clone().requires_grad_() for t in (X, Z, Xs)]
        model = FITC(kernel, leaves[0], y, leaves[1], 1e-3, targets=leaves[2] if together else None)
        mu, v = model.predict(leaves[2], omega)
        results.append((mu, v, *torch.autograd.grad((mu.sin() + v.log()).sum(), leaves)))
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("dual", [False, True])
def test_order_and_repetition_of_inducing_inputs_do_not_matter(dual):
    X, y, Z, Xs, omega = problem(12, 5)
    kernel = make_kernel("rbf")

    def results(inducing, jitter):
        model = forced(FITC(kernel, X, y, inducing, jitter), dual)
        return *model.predict(Xs, omega), model.log_marginal(omega)

    shuffled = Z[torch.tensor([3, 0, 4, 1, 2])]
    for a, b in zip(results(Z, 1e-3), results(shuffled, 1e-3), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)
    for a, b in zip(results(Z, 0.0), results(torch.cat([Z, Z]), 0.0), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-3)  # singular up to rounding, or repaired with jitter


@pytest.mark.parametrize("solver", ["dense", "iterative", "auto"])
@pytest.mark.parametrize(("n", "M"), [(1, 1), (1, 6), (30, 1), (5, 40), (120, 30), (120, 150), (100, 300)])
def test_float32_nodes_of_any_shape(n, M, solver):
    X, y, Z, Xs, _ = problem(n, M, dtype=torch.float32)
    X.requires_grad_(), Z.requires_grad_()
    model = FITC(make_kernel("rbf"), X, y, torch.cat([Z, Z[:1]]), 1e-3, solver=solver)
    omega = model.sample_omega(6, 3, Stream(0, "shapes"))
    mu, v = model.predict(Xs, omega)
    assert omega.shape == (6, n)
    assert mu.shape == v.shape == (6, 5)
    assert bool((v >= 0).all())
    assert bool((v < 8.01).all())
    (mu.sum() + v.sum() + model.log_marginal(omega).sum()).backward()
    assert bool(torch.isfinite(X.grad).all())
    assert bool(torch.isfinite(Z.grad).all())


@pytest.mark.parametrize("dual", [False, True])
def test_sampling_first_does_not_lose_the_gradient(dual):
    """Everything that is kept on first use must record its gradient, although the sampler records none."""
    X, y, Z, Xs, _ = problem(6, 4)
    leaves = [t.clone().requires_grad_() for t in (X, Z, torch.tensor(8.0).double())]
    model = forced(FITC(make_kernel("rbf", leaves[2], 1.0), leaves[0], y, leaves[1], 1e-3), dual)
    omega = model.sample_omega(3, 2, Stream(0, "gradient"))
    fresh = forced(FITC(make_kernel("rbf", leaves[2], 1.0), leaves[0], y, leaves[1], 1e-3), dual)
    for m in (model, fresh):
        mu, v = m.predict(Xs, omega)
        m.gradient = torch.autograd.grad(mu.sum() + v.sum() + m.log_marginal(omega).sum(), leaves)
    for a, b in zip(model.gradient, fresh.gradient, strict=True):
        torch.testing.assert_close(a, b)


def node(n, M, dtype=torch.float64):
    """Two overlapping clusters, with the omegas a trained client would have."""
    generator = torch.Generator().manual_seed(5)
    y = torch.arange(n) % 2 == 0
    centres = torch.randn(2, 20, generator=generator, dtype=dtype)
    X = unit_sphere(centres[y.long()] + 0.9 * torch.randn(n, 20, generator=generator, dtype=dtype))
    return X, y, unit_sphere(X[:M] + 0.05 * torch.randn(M, 20, generator=generator, dtype=dtype))


def test_same_stream_same_omega():
    X, y, Z = node(50, 10)
    draws = [FITC(make_kernel("rbf"), X, y, Z, 1e-3).sample_omega(3, 4, Stream(1, "a")) for _ in range(2)]
    assert torch.equal(*draws)


@pytest.mark.parametrize("shape", [(0, 3), (3,)])
def test_unusable_inducing_inputs_are_named(shape):
    X, y, *_ = problem(4, 1)
    with pytest.raises(DataError, match="at least one row"):
        FITC(make_kernel("rbf"), X, y, torch.zeros(shape), 1e-3)
