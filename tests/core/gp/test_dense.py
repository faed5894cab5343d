"""The B form against textbook linear algebra, its closed-form gradients against finite differences, its extremes."""

import math

import pytest
import torch

from pfedgp_core.gp import dense
from pfedgp_core.numerics.streams import Stream


@pytest.fixture
def problem():
    generator = torch.Generator().manual_seed(3)
    n, T, C = 7, 5, 4
    X = torch.nn.functional.normalize(torch.randn(n + T, 3, generator=generator, dtype=torch.float64))
    full = 8 * torch.exp(-(torch.cdist(X, X) ** 2) / 2)
    K = full[:n, :n] + 1e-3 * torch.eye(n, dtype=torch.float64)
    omega = torch.rand(C, n, generator=generator, dtype=torch.float64) * 0.3 + 0.02
    kappa = (torch.rand(n, generator=generator) > 0.5).double() - 0.5
    return K, full[:n, n:], torch.full((T,), 8.001, dtype=torch.float64), omega, kappa


def textbook(K, K_star, k_star_star, omega, kappa):
    mu, v, evidence = [], [], []
    for w in omega:
        S = K + torch.diag(1 / w)
        mu.append(K_star.T @ torch.linalg.solve(S, kappa / w))
        v.append(k_star_star - (K_star * torch.linalg.solve(S, K_star)).sum(0))
        n = len(w)
        gaussian = torch.distributions.MultivariateNormal(torch.zeros(n, dtype=K.dtype), S).log_prob(kappa / w)
        evidence.append(
            gaussian
            - n * math.log(2)
            + 0.5 * n * math.log(2 * math.pi)
            - 0.5 * w.log().sum()
            + (kappa**2 / (2 * w)).sum()
        )
    return torch.stack(mu), torch.stack(v), torch.stack(evidence)


def test_moments_and_evidence_equal_the_textbook_forms(problem):
    K, _, _, omega, kappa = problem
    mu, v = dense.predictive(*problem)
    expected_mu, expected_v, expected_evidence = textbook(*problem)
    torch.testing.assert_close(mu, expected_mu, atol=1e-11, rtol=0)
    torch.testing.assert_close(v, expected_v, atol=1e-11, rtol=0)
    torch.testing.assert_close(dense.log_marginal(K, omega, kappa), expected_evidence, atol=1e-11, rtol=0)


def test_posterior_is_the_gaussian_conditional(problem):
    K, _, _, omega, kappa = problem
    mean, covariance = dense.posterior(K, omega, kappa)
    for c, w in enumerate(omega):
        sigma = torch.linalg.inv(torch.linalg.inv(K) + torch.diag(w))
        torch.testing.assert_close(covariance[c], sigma, atol=1e-8, rtol=0)
        torch.testing.assert_close(mean[c], sigma @ kappa, atol=1e-8, rtol=0)


@pytest.mark.parametrize("inverted_below", [0, 96])
def test_closed_form_gradients(problem, inverted_below, monkeypatch):
    monkeypatch.setattr(dense, "INVERTED_BELOW", inverted_below)
    K, K_star, k_star_star, omega, kappa = problem
    # K enters symmetrically, so its gradient is checked through a symmetric parametrisation.
    half = (K / 2).requires_grad_()
    K_star.requires_grad_()
    k_star_star.requires_grad_()
    assert torch.autograd.gradcheck(
        lambda h, ks, kss: dense.predictive(h + h.T, ks, kss, omega, kappa), (half, K_star, k_star_star)
    )
    assert torch.autograd.gradcheck(lambda h: dense.log_marginal(h + h.T, omega, kappa), (half,))


@pytest.mark.parametrize("inverted_below", [0, 96])
def test_moments_with_gradients_are_those_without(problem, inverted_below, monkeypatch):
    monkeypatch.setattr(dense, "INVERTED_BELOW", inverted_below)
    expected = dense.predictive(*problem)
    found = dense.predictive(problem[0].requires_grad_(), *problem[1:])
    assert found[0].requires_grad
    torch.testing.assert_close(found, expected, atol=1e-12, rtol=0)


def test_chunks_of_chains_change_nothing(problem, monkeypatch):
    whole = dense.predictive(*problem)
    monkeypatch.setattr(dense, "CHUNK_BYTES", 1)
    for a, b in zip(whole, dense.predictive(*problem), strict=True):
        torch.testing.assert_close(a, b, atol=1e-12, rtol=0)


def test_vanishing_omega_leaves_the_prior(problem):
    K, K_star, k_star_star, omega, kappa = (t.float() for t in problem)
    mu, v = dense.predictive(K, K_star, k_star_star, torch.full_like(omega, 1e-30), kappa)
    assert torch.isfinite(mu).all()
    torch.testing.assert_close(v, k_star_star.expand_as(v), atol=1e-4, rtol=0)
    torch.testing.assert_close(mu, (kappa @ K_star).expand_as(mu), atol=1e-3, rtol=0)


def test_latents_are_drawn_from_the_conditional(problem):
    K, _, _, omega, kappa = problem
    chains = 40000
    f, _ = dense.draw_latents(K, torch.linalg.cholesky(K), omega[:1].expand(chains, -1), kappa, Stream(0, "latents"))
    mean, covariance = dense.posterior(K, omega[:1], kappa)
    error = (f.mean(0) - mean[0]).abs() / (covariance[0].diagonal() / chains).sqrt()
    assert error.max() < 5
    torch.testing.assert_close(torch.cov(f.T), covariance[0], atol=0.15, rtol=0)
