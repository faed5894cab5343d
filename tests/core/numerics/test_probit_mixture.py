"""The closed form of E sigma(f*): its error against dense integration and its gradients."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from scipy.special import log_expit, logsumexp

from pfedgp_core.numerics.quadrature import log_sigmoid_expectation

VARIANCES = (1e-6, 0.01, 0.3, 1.0, 8.0, 32.0, 64.0, 128.0, 512.0, 2048.0, 1e5)


def dense_log_expectation(mu: np.ndarray, v: float) -> np.ndarray:
    """log E sigma(f*) [T] by the trapezoid rule, exact far beyond the tolerances here."""
    deviation = np.sqrt(v)
    step = min(0.02, 0.05 / deviation)
    x = np.arange(-14, 14 + min(deviation, 30), step)  # the integrand's peak moves up by a deviation in the tail
    f = mu[:, None] + deviation * x
    integral: np.ndarray = logsumexp(log_expit(f) - x**2 / 2, axis=1) + np.log(step / np.sqrt(2 * np.pi))
    return integral


def means(v: float) -> np.ndarray:
    """Up to three deviations and ten beyond zero, and on both sides of the seam at v / 2 where that lies so near."""
    upwards, seam = np.linspace(0, 3 * np.sqrt(v) + 10, 30), v / 2 * np.array([0.999, 1.001])
    upwards = np.concatenate([upwards, seam[seam < 10 * np.sqrt(v)]])
    return np.concatenate([-upwards, upwards])


def closed(mu: np.ndarray, v: float, dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, torch.Tensor]:
    mean = torch.tensor(mu, dtype=dtype)
    return log_sigmoid_expectation(mean, torch.full_like(mean, v), 0)


@pytest.mark.parametrize("v", VARIANCES)
def test_error_against_dense_integration(v: float) -> None:
    mu = means(v)
    left, right = closed(mu, v)
    for got, wanted in ((left, dense_log_expectation(mu, v)), (right, dense_log_expectation(-mu, v))):
        assert_allclose(got.exp(), np.exp(wanted), atol=3e-9, rtol=0)
        assert_allclose(got, wanted, atol=2e-6, rtol=5e-7)


@pytest.mark.parametrize("v", VARIANCES)
def test_float32_adds_rounding_alone(v: float) -> None:
    mu = means(v)
    for single, double in zip(closed(mu, v, torch.float32), closed(mu, v), strict=True):
        assert_allclose(single.exp(), double.exp(), atol=5e-7)
        assert_allclose(single, double, atol=1e-5, rtol=2e-5)


@pytest.mark.parametrize("v", [32.0, 128.0, 2048.0])
def test_the_rule_of_32_nodes_is_far_off_at_large_variances(v: float) -> None:
    """What the closed form mends: the same numbers as before would be wrong in the third digit."""
    mu = means(v)
    exact = np.exp(dense_log_expectation(mu, v))
    by_rule = log_sigmoid_expectation(torch.tensor(mu), torch.full((len(mu),), v, dtype=torch.float64), 32)[0].exp()
    assert np.abs(by_rule.numpy() - exact).max() > 1e-3
    assert np.abs(closed(mu, v)[0].exp().numpy() - exact).max() < 3e-9


@pytest.mark.parametrize("v", [0.01, 1.0, 8.0, 128.0])
def test_derivatives_are_those_of_the_exact_expectation(v: float) -> None:
    mu = means(v)
    mean = torch.tensor(mu, requires_grad=True)
    variance = torch.full_like(mean, v).detach().requires_grad_()
    log_sigmoid_expectation(mean, variance, 0)[0].sum().backward()
    h = 1e-4
    by_mean = (dense_log_expectation(mu + h, v) - dense_log_expectation(mu - h, v)) / (2 * h)
    h *= min(1.0, v)
    by_variance = (dense_log_expectation(mu, v + h) - dense_log_expectation(mu, v - h)) / (2 * h)
    assert mean.grad is not None
    assert variance.grad is not None
    assert_allclose(mean.grad, by_mean, atol=2e-6)
    assert_allclose(variance.grad, by_variance, atol=2e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_where_probits_underflow_values_and_gradients_are_finite(dtype: torch.dtype) -> None:
    mu = torch.tensor([-9e4, -2e4, 9e4], dtype=dtype, requires_grad=True)
    v = torch.full((3,), 2e5, dtype=dtype, requires_grad=True)
    left, right = log_sigmoid_expectation(mu, v, 0)
    assert_allclose(left[:2].detach(), [-(9e4**2) / 4e5, -(2e4**2) / 4e5], rtol=0.02)
    (left + right).sum().backward()
    assert mu.grad is not None
    assert v.grad is not None
    assert torch.isfinite(torch.stack([mu.grad, v.grad])).all()
    assert_allclose(mu.grad[0], 9e4 / 2e5, rtol=3e-3)
