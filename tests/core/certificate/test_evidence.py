"""Evidence, KL and posterior moments against independent oracles and identities."""

import math

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from pfedgp_core.certificate.evidence import (
    chib_kl,
    chib_log_evidence,
    exact_posterior,
    expected_log_likelihood,
    latent_marginals,
    log_marginals,
    log_ratio,
)
from pfedgp_core.errors import ConfigError
from pfedgp_core.gp import gibbs
from pfedgp_core.gp.fitc import FITC
from pfedgp_core.gp.full import FullGP
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.numerics.streams import Stream


def expected(case, start):
    (found,) = [a["value"] for a in case["asserts"] if a["name"].startswith(start) and a["kind"] != "info"]
    return found


def mean_of(case):
    (found,) = [a["value"] for a in case["asserts"] if a["name"] in ("E f", "E f (training latents)")]
    return found


def model_of(case):
    inputs = case["inputs"]
    X = torch.tensor(inputs["X"], dtype=torch.float64)
    kernel = make_kernel("rbf", inputs["outputscale"], inputs["lengthscale"])
    if "Xbar" in inputs:
        inducing = torch.tensor(inputs["Xbar"], dtype=torch.float64)
        return FITC(kernel, X, torch.tensor(inputs["y"]), inducing, inputs["tau"])
    return FullGP(kernel, X, torch.tensor(inputs["y"]), inputs["tau"])


def random_node(n, chains, seed=0):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    K = torch.tensor(root @ root.T + 0.1 * np.eye(n))
    omega = torch.tensor(rng.gamma(2.0, 0.1, size=(chains, n)))
    return K, omega, torch.tensor(rng.integers(0, 2, n) - 0.5)


def test_exact_posterior_meets_the_golden_quadrature(golden):
    cases = [*golden.topic("full_exact"), golden.case("exact_fitc3")]
    for case in cases:
        model = model_of(case)
        posterior = exact_posterior(model.gram, model.kappa + 0.5)
        assert abs(posterior.log_evidence - expected(case, "log p(y)")) < 1e-11
        assert abs(posterior.kl - expected(case, "KL[Q(f)")) < 1e-9
        np.testing.assert_allclose(posterior.mean, mean_of(case), atol=1e-9)
        np.testing.assert_allclose(posterior.covariance, expected(case, "Cov f"), atol=1e-9)


@pytest.mark.slow
def test_four_points_in_two_independent_pairs():
    pair = torch.tensor([[8.0, 5.0], [5.0, 8.0]], dtype=torch.float64)
    left, right = torch.tensor([1, 0]), torch.tensor([1, 1])
    both = exact_posterior(torch.block_diag(pair, pair), torch.cat([left, right]))
    a, b = exact_posterior(pair, left), exact_posterior(pair, right)
    assert both.log_evidence == pytest.approx(a.log_evidence + b.log_evidence, abs=1e-11)
    assert both.kl == pytest.approx(a.kl + b.kl, abs=1e-9)
    torch.testing.assert_close(both.mean, torch.cat([a.mean, b.mean]), atol=1e-9, rtol=0)
    torch.testing.assert_close(both.covariance, torch.block_diag(a.covariance, b.covariance), atol=1e-9, rtol=0)


@pytest.mark.parametrize("variance", [1e-3, 1.0, 8.0, 200.0])
def test_one_latent_seen_twice_agrees_with_adaptive_quadrature(variance):
    K = torch.full((2, 2), variance, dtype=torch.float64) + 1e-13 * torch.eye(2, dtype=torch.float64)

    def integrand(f):
        return stats.norm.pdf(f, scale=math.sqrt(variance)) / (2 + 2 * math.cosh(min(abs(f), 700)))

    reach = 12 * math.sqrt(variance)
    value, _ = integrate.quad(integrand, -reach, reach, points=[0.0], epsabs=0, epsrel=1e-12, limit=500)
    assert exact_posterior(K, torch.tensor([1, 0])).log_evidence == pytest.approx(math.log(value), abs=1e-9)


def test_swapping_the_sides_mirrors_the_posterior():
    K, _, _ = random_node(3, 1)
    y = torch.tensor([1, 0, 0])
    a, b = exact_posterior(K, y), exact_posterior(K, 1 - y)
    assert a.log_evidence == pytest.approx(b.log_evidence, abs=1e-12)
    assert a.kl == pytest.approx(b.kl, abs=1e-11)
    torch.testing.assert_close(a.mean, -b.mean)


def test_quadrature_out_of_reach_says_what_to_use():
    with pytest.raises(ConfigError, match="chib_log_evidence"):
        exact_posterior(torch.eye(5), torch.ones(5))
    with pytest.raises(ConfigError, match="prior variance of 1e"):
        exact_posterior(1e6 * torch.eye(4), torch.ones(4))


def test_latent_marginals_are_those_of_the_textbook_posterior():
    K, omega, kappa = random_node(6, 4)
    mean, variance = latent_marginals(K.float().double(), omega, kappa)
    for c in range(4):
        Sigma = torch.linalg.inv(torch.linalg.inv(K.float().double()) + torch.diag(omega[c]))
        torch.testing.assert_close(mean[c], Sigma @ kappa)
        torch.testing.assert_close(variance[c], Sigma.diagonal())


def test_log_ratio_is_the_ratio_of_two_gaussian_densities():
    K, omega, kappa = random_node(5, 3)
    f = torch.tensor(np.random.default_rng(1).normal(size=(7, 5)))
    ratio = log_ratio(f, K, omega, kappa)
    prior = torch.distributions.MultivariateNormal(torch.zeros(5, dtype=torch.float64), K)
    for c in range(3):
        Sigma = torch.linalg.inv(torch.linalg.inv(K) + torch.diag(omega[c]))
        q = torch.distributions.MultivariateNormal(Sigma @ kappa, (Sigma + Sigma.T) / 2)
        torch.testing.assert_close(ratio[:, c], q.log_prob(f) - prior.log_prob(f), atol=1e-8, rtol=1e-8)


def test_expected_log_likelihood_against_adaptive_quadrature():
    K, omega, kappa = random_node(2, 1)
    mean, variance = latent_marginals(K, omega, kappa)
    total = 0.0
    for m, v, s in zip(mean[0].tolist(), variance[0].tolist(), (2 * kappa).tolist(), strict=True):
        total += integrate.quad(
            lambda f, m=m, v=v, s=s: stats.norm.pdf(f, m, math.sqrt(v)) * -np.logaddexp(0, -s * f), m - 30, m + 30
        )[0]
    assert float(expected_log_likelihood(K, omega, kappa)) == pytest.approx(total, abs=1e-7)


def test_chib_agrees_with_quadrature_for_both_priors(golden):
    for case_id in ("exact_n3_tau0.001", "exact_fitc3"):
        model = model_of(golden.case(case_id))
        exact = exact_posterior(model.gram, model.kappa + 0.5)
        omega = model.sample_omega(8000, 15, Stream(1, "chib"))
        log_evidence, kl = (chib(model.gram, omega, model.kappa) for chib in (chib_log_evidence, chib_kl))
        assert 0 < log_evidence.standard_error < 0.01
        assert abs(log_evidence.value - exact.log_evidence) < 4 * log_evidence.standard_error
        assert abs(kl.value - exact.kl) < 4 * kl.standard_error


@pytest.mark.slow
def test_chib_meets_the_reference_of_forty_points(golden):
    case = golden.case("ref_mid40")
    model = model_of(case)
    omega = gibbs.run(model, 1000, 20, Stream(2, "mid")).omega
    assert abs(chib_log_evidence(model.gram, omega, model.kappa).value - expected(case, "log p(y)")) < 0.12
    assert abs(chib_kl(model.gram, omega, model.kappa).value - expected(case, "KL[")) < 0.15


def test_mean_log_marginal_is_not_the_evidence(golden):
    case = golden.case("omega_n2_tau0")
    model = model_of(case)
    omega = model.sample_omega(8000, 15, Stream(3, "gap"))
    mean = float(log_marginals(model.gram, omega, model.kappa).mean())
    assert mean == pytest.approx(expected(case, "E_Q(w) log p(y|w)"), abs=0.02)
    assert mean > exact_posterior(model.gram, model.kappa + 0.5).log_evidence + 0.03


def test_one_chain_has_no_standard_error():
    K, omega, kappa = random_node(3, 1)
    assert chib_log_evidence(K, omega, kappa).standard_error == math.inf
