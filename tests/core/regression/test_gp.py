"""Regression heads: golden values, gradients, FITC with inducing = inputs, edge cases of the standardiser."""

import math

import pytest
import torch

from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.regression.gp import FITCRegression, FullRegression, Standardiser

PRECISIONS = [torch.float64, torch.float32]


def tensors(case, dtype):
    return {
        key: torch.tensor(value, dtype=dtype) if isinstance(value, list) else value
        for key, value in case["inputs"].items()
        if key != "kernel"
    }


def check(case, got, dtype):
    """Compare every assert of `case` that `got` holds; each name in `got` has to be one."""
    asserts = {a["name"]: a for a in case["asserts"]}
    for name, value in got.items():
        tolerance = asserts[name]["atol"] if dtype == torch.float64 else asserts[name].get("atol_float32", 1e-4)
        expected = torch.tensor(asserts[name]["value"], dtype=torch.float64)
        torch.testing.assert_close(
            value.detach().double(), expected, rtol=0, atol=tolerance, msg=lambda m, n=name: f"{n}: {m}"
        )


def kernel_of(case, scale=None, length=None):
    return make_kernel("rbf", scale or case["inputs"]["outputscale"], length or case["inputs"]["lengthscale"])


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_golden_full(golden, dtype):
    case = golden.case("fixed_reg_a")
    x = tensors(case, dtype)
    logs = [torch.tensor(math.log(v), dtype=dtype, requires_grad=True) for v in (8.0, 1.0, x["noise_var"])]
    scale, length, noise = (v.exp() for v in logs)
    model = FullRegression(make_kernel("rbf", scale, length), x["X"], x["y"], noise, x["tau"])
    mu, v = model.predict(x["Xs"])
    check(case, {"mu_star": mu, "v_star": v, "y_star_var": v + noise, "log_marginal": model.log_marginal()}, dtype)
    (expected,) = [a for a in case["asserts"] if a["name"].startswith("grad")]
    gradients = torch.autograd.grad(model.log_marginal(), logs)
    tolerance = expected["atol"] if dtype == torch.float64 else expected["atol_float32"]
    values = torch.tensor([expected["value"][f"log_{k}"] for k in ("outputscale", "lengthscale", "noise_var")])
    torch.testing.assert_close(torch.stack(gradients).double(), values.double(), rtol=1e-6, atol=tolerance)


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_golden_fitc(golden, dtype):
    case = golden.case("fixed_regfitc_a")
    x = tensors(case, dtype)
    model = FITCRegression(kernel_of(case), x["X"], x["y"], x["Xbar"], x["noise_var"], x["tau"])
    mu, v = model.predict(x["Xs"])
    f_mean, f_cov = model.posterior()
    fbar_mean, fbar_cov = model.inducing_posterior()
    got = {"mu_star": mu, "v_star": v, "y_star_var": v + x["noise_var"], "log_marginal": model.log_marginal()}
    check(case, got | {"f_mean": f_mean, "f_cov": f_cov, "fbar_mean": fbar_mean, "fbar_cov": fbar_cov}, dtype)


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_golden_inducing_inputs_as_data(golden, dtype):
    case = golden.case("fixed_regipdata_a")
    x = tensors(case, dtype)
    train = FullRegression(kernel_of(case), x["Xbar"], x["ybar"], x["noise_var"], x["tau"])
    mu, v = train.predict(x["X"])
    stack = torch.cat([x["X"], x["Xbar"]]), torch.cat([x["y"], x["ybar"]])
    test_mu, test_v = FullRegression(kernel_of(case), *stack, x["noise_var"], x["tau"]).predict(x["Xs"])
    got = {
        "train: mu at X from (Xbar,ybar)": mu,
        "train: predictive y variance": v + x["noise_var"],
        "train: mean log predictive density of y": train.log_density(x["X"], x["y"]).mean(),
        "test: mu at Xs from [X;Xbar]": test_mu,
        "test: latent variance": test_v,
    }
    check(case, got, dtype)


@pytest.fixture
def problem():
    generator = torch.Generator().manual_seed(3)
    X, Z, Xs = (torch.randn(k, 3, generator=generator, dtype=torch.float64) for k in (9, 4, 5))
    return X, Z, Xs, torch.randn(9, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("through_inducing", [False, True])
def test_gradients_reach_everything(problem, through_inducing):
    X, Z, Xs, y = problem
    scales = [torch.tensor(v, dtype=torch.float64) for v in (2.0, 1.2, 0.3)]

    def function(X, Z, Xs, y, scale, length, noise):
        kernel = make_kernel("rbf", scale, length)
        if through_inducing:
            model = FITCRegression(kernel, X, y, Z, noise, 1e-3)
        else:
            model = FullRegression(kernel, torch.cat([X, Z]), torch.cat([y, Z[:, 0]]), noise, 1e-3)
        return *model.predict(Xs), model.log_marginal(), model.log_density(Xs, Xs[:, 0])

    inputs = tuple(v.clone().requires_grad_() for v in (X, Z, Xs, y, *scales))
    assert torch.autograd.gradcheck(function, inputs)


def test_fitc_at_its_own_inputs_is_the_full_model(problem):
    X, _, Xs, y = problem
    kernel = make_kernel("rbf", 2.0, 1.2)
    full, fitc = FullRegression(kernel, X, y, 0.1, 0.0), FITCRegression(kernel, X, y, X, 0.1, 0.0)
    for a, b in zip(full.predict(Xs), fitc.predict(Xs), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(full.log_marginal(), fitc.log_marginal(), rtol=1e-9, atol=1e-9)


def test_log_marginal_is_the_density_of_the_targets(problem):
    X, Z, _, y = problem
    kernel, noise = make_kernel("matern52", 2.0, 1.2), 0.2
    full = FullRegression(kernel, X, y, noise, 1e-3)
    covariance = kernel.gram(X, 1e-3) + noise * torch.eye(9, dtype=torch.float64)
    normal = torch.distributions.MultivariateNormal(torch.zeros(9, dtype=torch.float64), covariance)
    torch.testing.assert_close(full.log_marginal(), normal.log_prob(y))
    fitc = FITCRegression(kernel, X, y, Z, noise, 1e-3)
    A, d = fitc.projection(X)
    normal = torch.distributions.MultivariateNormal(normal.mean, A.T @ A + torch.diag(d + noise))
    torch.testing.assert_close(fitc.log_marginal(), normal.log_prob(y))


@pytest.mark.parametrize("noise", [0.0, -1.0, math.nan])
def test_a_noise_variance_that_is_not_positive_is_named(problem, noise):
    X, Z, _, y = problem
    with pytest.raises(ConfigError, match="positive"):
        FullRegression(make_kernel("rbf"), X, y, noise, 1e-3)
    with pytest.raises(ConfigError, match="positive"):
        FITCRegression(make_kernel("rbf"), X, y, Z, noise, 1e-3)


def test_standardised_predictions_come_back_in_the_units_of_the_targets(problem):
    X, _, Xs, y = problem
    y = 1000 + 50 * y
    scale = Standardiser.fit(y)
    standard = scale.apply(y)
    assert float(standard.mean()) == pytest.approx(0, abs=1e-9)
    assert float(standard.square().mean()) == pytest.approx(1)
    torch.testing.assert_close(scale.undo_mean(standard), y)
    model = FullRegression(make_kernel("rbf"), X, standard, 0.1, 1e-3)
    mu, v = model.predict(Xs)
    mean, variance = scale.undo_mean(mu), scale.undo_variance(v + 0.1)
    expected = torch.distributions.Normal(mean, variance.sqrt()).log_prob(y[:5])
    torch.testing.assert_close(scale.undo_log_density(model.log_density(Xs, scale.apply(y[:5]))), expected)


@pytest.mark.parametrize("targets", [[0.1] * 7, [3.0], [1e6 + 0.1] * 3, [0.0, 0.0]])
@pytest.mark.parametrize("dtype", PRECISIONS)
def test_equal_targets_keep_their_scale(targets, dtype):
    scale = Standardiser.fit(torch.tensor(targets, dtype=dtype))
    assert scale.deviation == 1.0
    assert scale.mean == pytest.approx(targets[0], rel=1e-6)


@pytest.mark.parametrize("targets", [[], [1.0, math.nan], [math.inf]])
def test_targets_that_cannot_be_standardised_are_named(targets):
    with pytest.raises(DataError, match="finite"):
        Standardiser.fit(torch.tensor(targets))
