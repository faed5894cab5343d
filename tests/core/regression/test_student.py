"""The predictive law of a site that estimates mean and scale of its targets: formulas, invariances, coverage."""

import math
from collections import Counter

import numpy as np
import pytest
import torch
from scipy.stats import t as student

from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.metrics.regression import LEVELS, RegressionSums, regression_sums
from pfedgp_core.regression.gp import FITCRegression, FullRegression
from pfedgp_core.regression.student import SiteScale
from pfedgp_core.regression.task import PersonalRegressor, RegressionHead

NOISE, JITTER, DIMENSIONS = 0.3, 1e-3, 4
SETTINGS = Settings(task="regression", gp=GPSettings(output_scale=1.0, noise_variance=NOISE))
KERNEL = make_kernel("rbf", 1.0, 1.0)
SITES, TESTED = 400, 10


def points(n: int, seed: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(n, DIMENSIONS)))


def drawn(n: int, seed: int, mean: float = 40.0, scale: float = 7.0) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs and targets of the head's own law."""
    x = points(n, seed)
    gram = KERNEL.gram(unit_sphere(x), JITTER) + NOISE * torch.eye(n, dtype=torch.float64)
    noise = torch.from_numpy(np.random.default_rng([seed, 1]).normal(size=n))
    return x, mean + scale * torch.linalg.cholesky(gram) @ noise


def covered(n: int, head: RegressionHead | None = None) -> dict[float, float]:
    """Share of targets inside each central interval, over independent sites."""
    sums = RegressionSums()
    for seed in range(SITES):
        x, y = drawn(n + TESTED, seed)
        regressor = PersonalRegressor(SETTINGS, head).fit(x[:n], y[:n])
        law = regressor.law(x[n:])
        sums = sums + regression_sums(law.mean, law.scale, y[n:], 0.0, 1.0, law.freedom)
    return {level: count / sums.n for level, count in zip(LEVELS, sums.covered.tolist(), strict=True)}


@pytest.mark.slow
@pytest.mark.parametrize("n", [8, 30, 100])
def test_intervals_hold_what_they_say_at_every_size(n: int) -> None:
    found = covered(n)
    for level in (0.5, 0.9, 0.95):
        assert found[level] == pytest.approx(level, abs=0.02)


@pytest.mark.slow
def test_a_level_of_noise_and_signal_that_does_not_fit_is_corrected() -> None:
    """A head that is sure of ten times less variance than there is: only the ratio of its parts counts."""
    head = RegressionHead(make_kernel("rbf", 0.1, 1.0), 0.1 * NOISE)
    found = covered(30, head)
    assert found[0.9] == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize("times", [10.0, 100.0])
def test_intervals_are_never_narrower_than_the_head_says(times: float) -> None:
    """Errors far below the head's level, as at a site whose samples trained the features, narrow nothing."""
    x, y = drawn(30, 0)
    gp = FullRegression(make_kernel("rbf", times, 1.0), unit_sphere(x), (y - y.mean()) / y.std(), times * NOISE, JITTER)
    fitted = SiteScale.fit(gp, gp.targets)
    assert fitted is not None
    assert fitted.variance == 1
    _, latent = gp.predict(unit_sphere(points(5, 9)))
    assert (fitted.law(unit_sphere(points(5, 9))).scale >= (latent + times * NOISE).sqrt()).all()


def test_the_law_by_hand() -> None:
    x, y = drawn(12, 3)
    new = points(5, 9)
    law = PersonalRegressor(SETTINGS).fit(x, y).law(new)
    on_sphere, test = unit_sphere(x), unit_sphere(new)
    C = KERNEL.gram(on_sphere, JITTER) + NOISE * torch.eye(12, dtype=torch.float64)
    inverse, one, cross = torch.linalg.inv(C), torch.ones(12, dtype=torch.float64), KERNEL.cross(on_sphere, test)
    mean = one @ inverse @ y / (one @ inverse @ one)
    error = y - mean
    variance = error @ inverse @ error / 11
    unknown = (1 - one @ inverse @ cross).square() / (one @ inverse @ one)
    spread = 1 + JITTER + NOISE - (cross * (inverse @ cross)).sum(0) + unknown
    torch.testing.assert_close(law.mean, mean + error @ inverse @ cross)
    torch.testing.assert_close(law.scale, (variance * spread).sqrt())
    assert law.freedom == 11


def test_units_change_nothing_else() -> None:
    x, y = drawn(9, 5)
    new = points(4, 1)
    one = PersonalRegressor(SETTINGS).fit(x, y).law(new)
    other = PersonalRegressor(SETTINGS).fit(x, 1e6 - 3 * y).law(new)
    torch.testing.assert_close(other.mean, 1e6 - 3 * one.mean)
    torch.testing.assert_close(other.scale, 3 * one.scale)


def test_the_law_given_inducing_points_is_that_of_the_conditional_covariance() -> None:
    """Zeros at the inducing points condition on them: the same as with the covariance given these written out."""
    x, y = drawn(10, 2)
    head = RegressionHead(KERNEL, NOISE, points(6, 7), torch.linspace(-1, 1, 6, dtype=torch.float64))
    regressor = PersonalRegressor(SETTINGS.replace(variant="ip-data"), head).fit(x, y)
    new = points(3, 8)
    law = regressor.law(new)
    own = regressor.standardiser_
    inducing = unit_sphere(head.inducing)
    every = torch.cat([unit_sphere(x), unit_sphere(new)])
    C = KERNEL.gram(every, JITTER) + NOISE * torch.eye(13, dtype=torch.float64)
    known = KERNEL.gram(inducing, JITTER) + NOISE * torch.eye(6, dtype=torch.float64)
    cross = KERNEL.cross(inducing, every)
    prior = head.inducing_targets @ torch.linalg.solve(known, cross)
    C = C - cross.T @ torch.linalg.solve(known, cross)
    inverse, one = torch.linalg.inv(C[:10, :10]), torch.ones(10, dtype=torch.float64)
    residual = own.apply(y) - prior[:10]
    mean = one @ inverse @ residual / (one @ inverse @ one)
    error = residual - mean
    unknown = (1 - one @ inverse @ C[:10, 10:]).square() / (one @ inverse @ one)
    spread = C[10:, 10:].diagonal() - (C[:10, 10:] * (inverse @ C[:10, 10:])).sum(0) + unknown
    torch.testing.assert_close(law.mean, own.undo_mean(prior[10:] + mean + error @ inverse @ C[:10, 10:]))
    torch.testing.assert_close(law.scale, own.deviation * (error @ inverse @ error / 9 * spread).sqrt())


def test_fitc_with_all_inputs_is_the_full_law() -> None:
    x = unit_sphere(points(15, 4))
    y = torch.from_numpy(np.random.default_rng(1).normal(size=15))
    new = unit_sphere(points(6, 5))
    full = SiteScale.fit(FullRegression(KERNEL, x, y, NOISE, 1e-9), y)
    fitc = SiteScale.fit(FITCRegression(KERNEL, x, y, x, NOISE, 1e-9), y)
    assert full is not None
    assert fitc is not None
    torch.testing.assert_close(full.law(new).mean, fitc.law(new).mean, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(full.law(new).scale, fitc.law(new).scale, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("targets", [[3.0], [3.0, 3.0, 3.0]])
def test_targets_without_a_scale_have_a_normal_law(targets: list[float]) -> None:
    law = PersonalRegressor(SETTINGS).fit(points(len(targets), 0), targets).law(points(2, 1))
    assert math.isinf(law.freedom)
    assert torch.isfinite(law.scale).all()


@pytest.mark.parametrize(("n", "finite"), [(2, False), (3, False), (4, True)])
def test_a_deviation_is_that_of_the_law(n: int, finite: bool) -> None:
    x, y = drawn(n, 1)
    regressor = PersonalRegressor(SETTINGS).fit(x, y)
    _, deviation = regressor.predict(points(2, 1), return_std=True)
    assert np.isfinite(deviation).all() == finite
    if finite:
        law = regressor.law(points(2, 1))
        np.testing.assert_allclose(deviation, student(law.freedom, scale=law.scale.numpy()).std())


def test_sums_of_student_s_law() -> None:
    targets = np.array([0.3, -4.0, 2.2])
    sums = regression_sums([0.0, 1.0, 2.0], [1.0, 2.0, 0.5], targets, 0.0, 1.0, freedom=3.0)
    law = student(3.0, loc=[0.0, 1.0, 2.0], scale=[1.0, 2.0, 0.5])
    assert sums.nll_sum == pytest.approx(-law.logpdf(targets).sum())
    inside = [int((np.abs(law.cdf(targets) - 0.5) <= level / 2).sum()) for level in LEVELS]
    assert sums.covered.tolist() == inside


def test_counters_are_those_of_the_fit() -> None:
    x, y = drawn(6, 1)
    assert PersonalRegressor(SETTINGS).fit(x, y).counters_ == Counter()
