"""The inverse binary kl, the bound, and the KL and risk of a node's posterior."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pfedgp_core.certificate.evidence import exact_posterior
from pfedgp_core.certificate.pac_bayes import (
    conditional_kl,
    epsilon,
    gibbs_errors,
    kl_inverse,
    mixture_kl,
    mutual_information,
    pac_bayes_bound,
)
from pfedgp_core.errors import ConfigError
from pfedgp_core.gp import gibbs
from pfedgp_core.gp.full import FullGP
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.numerics.streams import Stream


def node_of(case):
    inputs = case["inputs"]
    X = torch.tensor(inputs["X"], dtype=torch.float64)
    kernel = make_kernel("rbf", inputs["outputscale"], inputs["lengthscale"])
    return FullGP(kernel, X, torch.tensor(inputs["y"]), inputs["tau"])


def random_node(n, chains, seed=0):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    K = torch.tensor(root @ root.T + 0.1 * np.eye(n))
    return K, torch.tensor(rng.gamma(2.0, 0.1, size=(chains, n))), torch.tensor(rng.integers(0, 2, n) - 0.5)


def binary_kl(q, p):
    left = 0.0 if q == 0 else q * math.log(q / p)
    right = 0.0 if q == 1 else math.inf if p == 1 else (1 - q) * (math.log1p(-q) - math.log1p(-p))
    return left + right


def test_kl_inverse_meets_the_golden_table(golden):
    case = golden.case("kl_inverse_p")
    q, eps = np.array(case["inputs"]["rows"], dtype=float).T
    p_max, gap = (np.array(a["value"]) for a in case["asserts"])
    np.testing.assert_allclose(kl_inverse(q, eps), p_max, atol=1e-12)
    np.testing.assert_allclose(kl_inverse(q, eps) - q, gap, atol=1e-12)


def test_kl_inverse_at_the_edges():
    assert kl_inverse(0.0, 0.0) == 0.0
    assert kl_inverse(0.0, 0.3) == pytest.approx(1 - math.exp(-0.3), abs=1e-15)
    assert kl_inverse(0.0, 1e-300) == pytest.approx(1e-300)
    assert kl_inverse(0.37, 0.0) == 0.37
    assert kl_inverse(1.0, 0.0) == 1.0
    assert kl_inverse(1.0, 5.0) == 1.0
    assert kl_inverse(0.9, 10.0) == pytest.approx(1.0, abs=1e-12)
    assert kl_inverse(0.2, math.inf) == 1.0
    assert kl_inverse([0.1, 0.2], [[0.0], [1.0]]).shape == (2, 2)


@pytest.mark.slow
@given(st.floats(0, 1), st.floats(0, 20))
@settings(max_examples=300)
def test_kl_inverse_is_the_largest_allowed_risk(q, eps):
    p = float(kl_inverse(q, eps))
    assert q <= p <= 1.0
    assert float(kl_inverse(q, eps + 0.01)) >= p
    if 1e-6 < q < 1 and p < 1 - 1e-9:
        assert binary_kl(q, p) == pytest.approx(eps, rel=1e-7, abs=1e-7)
    if p < 1 - 1e-6:
        assert binary_kl(q, p + 1e-6) > eps - 1e-12


@pytest.mark.parametrize(("q", "eps"), [(-0.1, 1.0), (1.1, 1.0), (math.nan, 1.0), (0.5, -1.0), (0.5, math.nan)])
def test_kl_inverse_refuses_what_is_no_risk_or_allowance(q, eps):
    with pytest.raises(ConfigError):
        kl_inverse([0.5, q], eps)


def test_bounds_of_stated_numbers(golden):
    for case_id in ("pac_synth_0", "pac_synth_1", "pac_synth_3"):
        case = golden.case(case_id)
        inputs, values = case["inputs"], [a["value"] for a in case["asserts"]]
        for form, eps, bound in (("seeger", *values[:2]), ("maurer", *values[2:4])):
            arguments = (inputs["KL"], inputs["N"], inputs["delta"], form)
            assert float(epsilon(*arguments)) == pytest.approx(eps, abs=1e-12)
            assert float(pac_bayes_bound(inputs["emp_risk"], *arguments)) == pytest.approx(bound, abs=1e-10)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [((1.0, 0, 0.01), "n = 0"), ((1.0, 5, 1.0), "delta"), ((-1.0, 5, 0.01), "KL"), ((1.0, 5, 0.01, "best"), "form")],
)
def test_epsilon_names_the_wrong_argument(arguments, word):
    with pytest.raises(ConfigError, match=word):
        epsilon(*arguments)


def test_conditional_kl_is_the_kl_of_two_gaussians():
    K, omega, kappa = random_node(6, 3)
    prior = torch.distributions.MultivariateNormal(torch.zeros(6, dtype=torch.float64), K)
    for c, value in enumerate(conditional_kl(K, omega, kappa)):
        Sigma = torch.linalg.inv(torch.linalg.inv(K) + torch.diag(omega[c]))
        q = torch.distributions.MultivariateNormal(Sigma @ kappa, (Sigma + Sigma.T) / 2)
        assert float(value) == pytest.approx(float(torch.distributions.kl_divergence(q, prior)), abs=1e-8)


def test_conditional_kl_does_not_depend_on_how_chains_are_blocked(monkeypatch):
    K, omega, kappa = random_node(5, 9)
    whole = conditional_kl(K, omega, kappa)
    monkeypatch.setattr("pfedgp_core.certificate.evidence.CHUNK_ELEMENTS", 50)
    torch.testing.assert_close(conditional_kl(K, omega, kappa), whole)


def test_gibbs_errors_are_frequencies_of_the_wrong_sign():
    K, omega, kappa = random_node(4, 2)
    errors = gibbs_errors(K, omega, kappa)
    for c in range(2):
        Sigma = torch.linalg.inv(torch.linalg.inv(K) + torch.diag(omega[c]))
        root = torch.linalg.cholesky((Sigma + Sigma.T) / 2)
        z = torch.randn(200_000, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(c))
        wrong = ((Sigma @ kappa + z @ root.T) * kappa < 0).double().mean(0)
        torch.testing.assert_close(errors[c], wrong, atol=0.005, rtol=0)


def test_chains_reproduce_the_golden_decomposition(golden):
    case = golden.case("omega_n2_tau0")
    node = node_of(case)
    state = gibbs.run(node, 12000, 15, Stream(4, "pac"))
    values = {a["name"]: a["value"] for a in case["asserts"]}
    kl = conditional_kl(node.gram, state.omega, node.kappa).mean()
    assert float(kl) == pytest.approx(values["E_Q(w) KL[Q(f|w)||P(f)]"], abs=0.01)
    errors = gibbs_errors(node.gram, state.omega, node.kappa).mean(0)
    np.testing.assert_allclose(errors, values["per-point P(sign f != y)"], atol=0.004)
    groups = [mutual_information(state.f[i::6], state.omega[i::6]).value for i in range(6)]
    assert np.mean(groups) == pytest.approx(values["MI[f;w] under Q"], abs=0.015)


def test_mutual_information_by_its_definition():
    rng = np.random.default_rng(5)
    f, omega = rng.normal(size=(6, 3)) * 3, rng.gamma(2, 0.1, size=(6, 3))
    log_q = np.array([[(-w * g**2 / 2 + np.log(np.cosh(g / 2))).sum() for g in f] for w in omega])
    ratio = np.exp(log_q - log_q.diagonal()[:, None])
    off = (ratio.sum(1) - 1) / 5
    pairs = torch.tensor(f), torch.tensor(omega)
    inclusive, left_out = mutual_information(*pairs), mutual_information(*pairs, inclusive=False)
    assert inclusive.value == pytest.approx(-np.log(ratio.mean(1)).mean(), abs=1e-12)
    assert left_out.value == pytest.approx(-np.log(off).mean(), abs=1e-12)
    assert inclusive.value <= math.log(6)
    with pytest.raises(ConfigError, match="at least 2"):
        mutual_information(pairs[0][:1], pairs[1][:1])


def test_mutual_information_survives_large_latents():
    f = torch.tensor([[800.0], [-900.0], [0.0]])
    assert math.isfinite(mutual_information(f, torch.tensor([[1e-3], [1e-3], [0.25]])).value)


@pytest.mark.slow
def test_leaving_out_errs_upwards_and_including_downwards(golden):
    node = node_of(golden.case("omega_n2_tau0"))
    state = gibbs.run(node, 8000, 15, Stream(6, "bias"))
    pairs = list(zip(state.f.split(4), state.omega.split(4), strict=True))
    left_out = np.mean([mutual_information(f, w, inclusive=False).value for f, w in pairs])
    inclusive = np.mean([mutual_information(f, w).value for f, w in pairs])
    assert inclusive < 0.0868 - 0.01 < 0.0868 + 0.01 < left_out


def test_mixture_kl_approaches_the_exact_kl_from_above(golden):
    node = node_of(golden.case("exact_n3_tau0.001"))
    exact = exact_posterior(node.gram, node.kappa + 0.5).kl
    omega = node.sample_omega(2000, 15, Stream(7, "mixture"))
    upper, estimate = mixture_kl(node.gram, omega, node.kappa, Stream(8, "draws"), draws=3)
    assert upper > exact
    assert estimate.value < upper
    assert abs(estimate.value - exact) < 0.01 + 4 * estimate.standard_error
    again = mixture_kl(node.gram, omega, node.kappa, Stream(8, "draws"), draws=3)
    assert again == (upper, estimate)


def test_mixture_of_one_chain_is_that_chain():
    K, omega, kappa = random_node(4, 1)
    upper, estimate = mixture_kl(K, omega, kappa, Stream(9), draws=4)
    assert estimate.value == pytest.approx(upper, abs=1e-12)
    assert estimate.standard_error == pytest.approx(0.0, abs=1e-12)
