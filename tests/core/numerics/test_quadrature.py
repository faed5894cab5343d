"""The closed form and Gauss-Hermite: both link expectations against adaptive quadrature, tails, gradients."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import integrate
from scipy.special import expit, log_expit

from pfedgp_core.numerics.quadrature import expected_log_sigmoid, gauss_hermite, log_sigmoid_expectation

GRID = [(mu, v) for mu in (-12.0, -3.0, -0.4, 0.0, 0.4, 3.0, 12.0) for v in (1e-4, 0.3, 2.0, 8.001)]


def tensors(pairs: list[tuple[float, float]], dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, torch.Tensor]:
    table = torch.tensor(pairs, dtype=dtype)
    return table[:, 0], table[:, 1]


def expectation(function, mu: float, v: float) -> float:
    def integrand(x):
        return function(mu + np.sqrt(v) * x) * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)

    value, _ = integrate.quad(integrand, -14, 14, epsabs=0, epsrel=1e-11, limit=400, points=[0.0])
    return value


@pytest.mark.parametrize("n", [4, 10, 32, 64, 128])
def test_rule_integrates_polynomials(n):
    x, log_w = gauss_hermite(n, torch.float64, "cpu")
    w = log_w.exp()
    assert x.shape == log_w.shape == (n,)
    for power, moment in ((0, 1), (1, 0), (2, 1), (3, 0), (4, 3), (6, 15)):
        assert abs((w * x**power).sum() - moment) < 1e-11 * max(moment, 1)
    assert torch.equal(x, -x.flip(0))


def test_rule_is_kept():
    assert gauss_hermite(32, torch.float32, "cpu")[0] is gauss_hermite(32, torch.float32, "cpu")[0]
    assert gauss_hermite(32, torch.float32, "cpu")[0].dtype == torch.float32


def test_rule_made_in_inference_mode_can_be_trained_with():
    gauss_hermite.cache_clear()
    with torch.inference_mode():
        log_sigmoid_expectation(torch.zeros(1), torch.ones(1), 17)
        expected_log_sigmoid(torch.zeros(1), torch.ones(1), 17)
    mu = torch.zeros(1, requires_grad=True)
    for function in (log_sigmoid_expectation, expected_log_sigmoid):
        function(mu, torch.ones(1), 17)[0].sum().backward()
    assert mu.grad.isfinite().all()


@pytest.mark.parametrize("n", [0, 32])
@pytest.mark.parametrize(("dtype", "slack"), [(torch.float64, 0.0), (torch.float32, 3e-6)])
def test_log_expectation(dtype, slack, n):
    mu, v = tensors(GRID, dtype)
    left, right = log_sigmoid_expectation(mu, v, n)
    assert left.dtype == dtype
    for got, sign in ((left, 1), (right, -1)):
        wanted = np.array([expectation(lambda f: expit(sign * f), m, s) for m, s in GRID])  # noqa: B023
        assert_allclose(got.exp(), wanted, atol=1e-5)
        exact_enough = v.numpy() <= 2  # the rule's own relative error in the far tail at v = 8 is above 1e-4
        assert_allclose(got[exact_enough], np.log(wanted)[exact_enough], atol=1e-6 + 10 * slack)


def test_more_nodes_are_more_accurate():
    wanted = expectation(expit, 1.0, 8.0)
    mu, v = torch.tensor(1.0).double(), torch.tensor(8.0).double()
    errors = [abs(float(log_sigmoid_expectation(mu, v, n)[0].exp()) - wanted) for n in (8, 16, 32, 64)]
    assert errors == sorted(errors, reverse=True)
    assert errors[2] < 1e-5
    assert errors[3] < 1e-7


def test_explog_expectation():
    mu, v = tensors(GRID)
    left, right = expected_log_sigmoid(mu, v)
    for got, sign in ((left, 1), (right, -1)):
        wanted = np.array([expectation(lambda f: log_expit(sign * f), m, s) for m, s in GRID])  # noqa: B023
        assert_allclose(got, wanted, atol=2e-5, rtol=1e-5)
    assert_allclose(left - right, mu, atol=1e-12)


@pytest.mark.parametrize("function", [log_sigmoid_expectation, expected_log_sigmoid])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_sides_swap_with_the_sign(function, dtype):
    mu, v = tensors(GRID, dtype)
    (left, right), (mirrored_left, mirrored_right) = function(mu, v), function(-mu, v)
    tolerance = 1e-12 if dtype == torch.float64 else 1e-5
    assert_allclose(left, mirrored_right, rtol=tolerance, atol=tolerance)
    assert_allclose(right, mirrored_left, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("v", [0.0, 1e-3, 1.0, 4.0])
@pytest.mark.parametrize("mu", [60.0, 85.0, 100.0, 300.0, 900.0, 1e4])
def test_far_tail(mu, v, dtype):
    """There sigma(f) is exp(f), so log E sigma is mu + v/2; no underflow, also where exp(mu) is 0 in floating point."""
    mean, variance = torch.tensor([-mu, mu], dtype=dtype), torch.full((2,), v, dtype=dtype)
    left, right = log_sigmoid_expectation(mean, variance)
    assert_allclose([left[0], right[1]], [-mu + v / 2] * 2, rtol=1e-6)
    assert_allclose([right[0], left[1]], [0, 0], atol=1e-20)
    left, right = expected_log_sigmoid(mean, variance)
    assert_allclose([left[0], right[1]], [-mu] * 2, rtol=1e-6)


def test_probabilities_sum_to_one_and_never_exceed_it():
    mu = torch.linspace(-40, 40, 4001)
    for v in (0.0, 0.5, 8.0, 300.0):
        left, right = log_sigmoid_expectation(mu, torch.full_like(mu, v))
        assert left.max() <= 0
        assert right.max() <= 0
        assert (left.exp() + right.exp() - 1).abs().max() < 3e-7


def test_large_variance():
    """Nodes reach far into both tails: an even chance at mean 0, no NaN anywhere."""
    mu = torch.tensor([0.0, 3.0, -3.0, 1e3, -1e3], requires_grad=True)
    v = torch.tensor([1e4] * 5, requires_grad=True)
    for function in (log_sigmoid_expectation, expected_log_sigmoid):
        left, right = function(mu, v)
        assert left.isfinite().all()
        assert right.isfinite().all()
        (left + right).sum().backward()
        assert mu.grad.isfinite().all()
        assert v.grad.isfinite().all()
    assert_allclose(log_sigmoid_expectation(mu, v)[0][0].item(), np.log(0.5), rtol=1e-6)


@pytest.mark.parametrize("function", [log_sigmoid_expectation, expected_log_sigmoid])
def test_variance_is_clamped(function):
    mu = torch.tensor([1.5, 1.5, 1.5])
    left, right = function(mu, torch.tensor([0.0, -1e-4, 1e-12]))
    assert_allclose(left, log_expit(1.5), rtol=1e-6)
    assert_allclose(right, log_expit(-1.5), rtol=1e-6)
    v = torch.zeros(1, requires_grad=True)
    function(torch.ones(1), v)[0].backward()
    assert v.grad.item() == 0


@pytest.mark.parametrize("function", [log_sigmoid_expectation, expected_log_sigmoid])
def test_nan_stays_visible(function):
    left, right = function(torch.tensor([float("nan"), 0.0]), torch.tensor([1.0, float("nan")]))
    assert left.isnan().all()
    assert right.isnan().all()


@pytest.mark.parametrize("function", [log_sigmoid_expectation, expected_log_sigmoid])
@pytest.mark.parametrize("n", [0, 8, 32])
def test_gradients(function, n):
    generator = torch.Generator().manual_seed(0)
    mu = 3 * torch.randn(3, 5, generator=generator, dtype=torch.float64)
    mu[0, :4] = torch.tensor([-900.0, 800.0, -30.0, 1e-9])
    v = 8 * torch.rand(3, 5, generator=generator, dtype=torch.float64) + 1e-3
    mu.requires_grad_(), v.requires_grad_()
    assert torch.autograd.gradcheck(lambda mu, v: function(mu, v, n), (mu, v))
    assert torch.autograd.gradcheck(lambda mu: function(mu, v.detach(), n)[1], (mu,))
    assert torch.autograd.gradcheck(lambda v: function(mu.detach(), v, n)[0], (v,))


def test_gradient_equals_that_of_the_plain_formula_in_float32():
    generator = torch.Generator().manual_seed(1)
    mu, v = 4 * torch.randn(20, 50, generator=generator), 8 * torch.rand(20, 50, generator=generator) + 1e-2
    mu[0] *= 40
    weights = torch.randn(2, 20, 50, generator=generator)

    def gradient(function, *inputs):
        inputs = [x.clone().requires_grad_() for x in inputs]
        left, right = function(*inputs)
        return torch.autograd.grad((left * weights[0] + right * weights[1]).sum(), inputs)

    def plain(mu, v):
        x, log_w = gauss_hermite(32, torch.float64, "cpu")
        f = mu[..., None] + v.sqrt()[..., None] * x
        return tuple(torch.logsumexp(torch.nn.functional.logsigmoid(s * f) + log_w, -1) for s in (1, -1))

    for got, wanted in zip(
        gradient(lambda mu, v: log_sigmoid_expectation(mu, v, 32), mu, v),
        gradient(plain, mu.double(), v.double()),
        strict=True,
    ):
        assert_allclose(got, wanted, atol=2e-5, rtol=2e-5)


def test_no_gradient_is_kept_where_none_is_asked():
    left, right = log_sigmoid_expectation(torch.zeros(3), torch.ones(3))
    assert not left.requires_grad
    assert not right.requires_grad


@settings(max_examples=80)
@given(mu=st.floats(-1e3, 1e3, width=32), v=st.floats(0, 1e3, width=32))
def test_any_mean_and_variance(mu, v):
    mean, variance = torch.tensor([mu], requires_grad=True), torch.tensor([v], requires_grad=True)
    left, right = log_sigmoid_expectation(mean, variance)
    explog_left, explog_right = expected_log_sigmoid(mean, variance)
    assert left <= 0
    assert right <= 0
    slack = 1e-5 * (1 + abs(mu))
    assert explog_left <= left + slack
    assert explog_right <= right + slack
    (left + right).backward()
    assert mean.grad.isfinite().all()
    assert variance.grad.isfinite().all()


@pytest.mark.parametrize("n", [0, 32])
@pytest.mark.parametrize("rows", [1, 7, 64])
def test_many_values_are_taken_in_parts_with_the_values_and_gradients_of_the_whole(
    rows: int, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pfedgp_core.numerics import quadrature

    generator = torch.Generator().manual_seed(0)
    mean = 30 * torch.randn(3, 5, 11, generator=generator)  # both tails, beyond what sums of float32 reach
    variance = 8 * torch.rand(3, 5, 11, generator=generator)
    found = []
    for most in (2**22, (n or 8) * rows):
        monkeypatch.setattr(quadrature, "_MOST_VALUES", most)
        mu, v = mean.clone().requires_grad_(), variance.clone().requires_grad_()
        left, right = quadrature.log_sigmoid_expectation(mu, v, n)
        (left.sum() + 2 * right.sum()).backward()
        found.append((left, right, mu.grad, v.grad))
    for whole, parts in zip(*found, strict=True):
        torch.testing.assert_close(parts, whole, rtol=1e-5, atol=1e-7)
