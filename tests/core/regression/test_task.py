"""Regression on features and as a client's update: it learns, recovers the noise, and survives little or odd data."""

from collections import Counter

import numpy as np
import pytest
import torch

from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.data.datasets import TensorSplit
from pfedgp_core.errors import ConfigError, DataError, NonFiniteError
from pfedgp_core.heads.regression import NOISE_FLOOR, regression_head
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.methods.evaluation import evaluate_client
from pfedgp_core.methods.update import local_update
from pfedgp_core.metrics.regression import RegressionSums
from pfedgp_core.metrics.summary import summarise
from pfedgp_core.model.shared import SharedState
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.regression.task import PersonalRegressor, RegressionHead, regression_loss

SETTINGS = Settings(
    task="regression", network="mlp", feature_dim=8, inducing_per_class=12, gp=GPSettings(output_scale=1.0)
)
KINDS = [("full", "predictive"), ("full", "marginal"), ("ip-compute", "predictive"), ("ip-compute", "marginal")]
KINDS += [("ip-data", "predictive")]


def angles(n, noise, seed=0, offset=0.0, scale=1.0):
    """Points on a circle and a smooth function of their angle with noise, as features and targets."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(-np.pi, np.pi, n)
    targets = offset + scale * (np.sin(angle) + 0.5 * np.cos(2 * angle) + noise * rng.normal(size=n))
    return np.stack([np.cos(angle), np.sin(angle)], axis=1), targets


def split(n=60, noise=0.2, seed=0, offset=50.0, scale=10.0):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(n, 4))
    targets = offset + scale * (np.sin(2 * inputs[:, 0]) + inputs[:, 1] + noise * rng.normal(size=n))
    return TensorSplit(torch.from_numpy(inputs).float(), torch.from_numpy(targets))


def state(settings=SETTINGS):
    return SharedState.initial(settings, (4,), 0)


# the personal regressor


def test_learns_a_smooth_function_in_its_own_units():
    features, targets = angles(80, 0.1, offset=300.0, scale=40.0)
    new, wanted = angles(200, 0.0, seed=1, offset=300.0, scale=40.0)
    regressor = PersonalRegressor(SETTINGS, RegressionHead(make_kernel("rbf", 1.0, 0.7), noise_variance=0.01)).fit(
        features, targets
    )
    mean, deviation = regressor.predict(new, return_std=True)
    assert mean.shape == deviation.shape == (200,)
    assert mean.dtype == np.float64
    assert np.sqrt(np.mean((mean - wanted) ** 2)) < 4.0  # the noise of one target
    assert (deviation > 3.0).all()
    assert (deviation < 8.0).all()
    assert np.array_equal(mean, regressor.predict(new))


@pytest.mark.slow
def test_marginal_likelihood_recovers_the_noise():
    features, targets = angles(300, 0.5)
    spread = targets.std()
    shared = SharedState(torch.nn.Identity(), log_noise=torch.zeros(1))
    x, y = torch.from_numpy(features), torch.from_numpy((targets - targets.mean()) / spread)
    settings = SETTINGS.replace(objective="marginal")
    optimiser = torch.optim.Adam(shared.parameters(), 0.1)
    for _ in range(80):
        optimiser.zero_grad()
        loss = regression_loss(x, y, regression_head(shared, settings), settings, Stream(0), Counter())
        assert loss is not None
        loss.backward()
        optimiser.step()
    noise = float(regression_head(shared, settings).noise_variance.detach()) * spread**2
    assert noise == pytest.approx(0.25, rel=0.2)


@pytest.mark.parametrize("variant", ["full", "ip-data", "ip-compute"])
def test_equal_targets_and_one_sample(variant):
    settings = SETTINGS.replace(variant=variant)
    with torch.no_grad():
        head = regression_head(state(settings), settings)
        if head.inducing_targets is not None:
            head.inducing_targets.zero_()
    for n in (1, 7):
        regressor = PersonalRegressor(settings, head).fit(np.random.default_rng(0).normal(size=(n, 8)), np.full(n, 7.5))
        mean, deviation = regressor.predict(np.random.default_rng(1).normal(size=(5, 8)), return_std=True)
        np.testing.assert_allclose(mean, 7.5, atol=1e-9)
        assert np.isfinite(deviation).all()
        assert (deviation > 0).all()


def test_bad_data_are_refused():
    x, y = angles(5, 0.1)
    holed = x.copy()
    holed[2, 1] = np.nan
    regressor = PersonalRegressor(SETTINGS)
    with pytest.raises(NonFiniteError):
        regressor.fit(holed, y)
    with pytest.raises(DataError, match="finite"):
        regressor.fit(x, np.where(np.arange(5) == 1, np.nan, y))
    with pytest.raises(DataError, match="5 feature rows"):
        regressor.fit(x, y[:4])
    with pytest.raises(DataError, match="one at least"):
        regressor.fit(x[:0], y[:0])
    with pytest.raises(DataError, match="matrix"):
        regressor.fit(y, y)
    with pytest.raises(DataError, match="call fit first"):
        PersonalRegressor(SETTINGS).predict(x)
    with pytest.raises(NonFiniteError):
        regressor.fit(x, y).predict(holed)


@pytest.mark.parametrize("variant", ["ip-data", "ip-compute"])
def test_inducing_points_are_required(variant):
    with pytest.raises(ConfigError, match="inducing points"):
        PersonalRegressor(SETTINGS.replace(variant=variant))


def test_inducing_points_alone_can_predict():
    settings = SETTINGS.replace(variant="ip-data", personal_data=False)
    head = regression_head(state(settings), settings)
    features = np.random.default_rng(0).normal(size=(6, 8))
    first, second = (PersonalRegressor(settings, head).fit(features, y) for y in ([0.0, 2.0] * 3, [2.0, 0.0] * 3))
    assert np.array_equal(first.predict(features), second.predict(features))  # only mean and deviation are used


# a client's update


@pytest.mark.parametrize(("variant", "objective"), KINDS)
def test_updates_improve_loss_and_predictions(variant, objective):
    settings = SETTINGS.replace(variant=variant, objective=objective, learning_rate=0.02, local_epochs=3)
    shared, data, test = state(settings), split(), split(seed=1)
    before = summarise(evaluate_client(shared, data, test, settings, Stream(0)).sums)
    losses = [local_update(shared, data, settings, Stream(0, "train", r)).loss for r in range(25)]
    result = evaluate_client(shared, data, test, settings, Stream(0))
    after = summarise(result.sums)
    assert np.mean(losses[-5:]) < np.mean(losses[:5])
    assert after["rmse"] < before["rmse"]
    assert after["nll"] < before["nll"]
    assert after["r2"] > 0.5 > after["baseline_r2"]
    assert set(result.seconds) == {"network", "gp"}


@pytest.mark.parametrize(("variant", "objective"), KINDS)
def test_every_shared_parameter_has_a_gradient(variant, objective):
    settings = SETTINGS.replace(
        variant=variant, objective=objective, gp=GPSettings(output_scale=1.0, learn_scales=True)
    )
    shared, data = state(settings), split()
    loss = regression_loss(
        shared.network(data.inputs), data.labels, regression_head(shared, settings), settings, Stream(0), Counter()
    )
    assert loss is not None
    loss.backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in shared.parameters())


def test_the_noise_starts_at_its_setting_and_never_reaches_zero():
    shared = state()
    assert float(regression_head(shared, SETTINGS).noise_variance.detach()) == pytest.approx(0.3)
    with torch.no_grad():
        shared.log_noise.fill_(-1e3)
    assert float(regression_head(shared, SETTINGS).noise_variance.detach()) == NOISE_FLOOR


@pytest.mark.parametrize(("n", "status"), [(0, "no-data"), (1, "no-step"), (2, "ok"), (3, "ok")])
def test_clients_with_little_data_take_part(n, status):
    shared = state()
    before = shared.to_vector()
    result = local_update(shared, split(n), SETTINGS, Stream(0))
    assert result.status == status
    assert np.isfinite(shared.to_vector()).all()
    assert (shared.to_vector() == before).all() == (status != "ok")


def test_constant_targets_leave_finite_weights():
    shared, data = state(), split()
    constant = TensorSplit(data.inputs, torch.full_like(data.labels, 4.0))
    assert local_update(shared, constant, SETTINGS, Stream(0)).status == "ok"
    assert np.isfinite(shared.to_vector()).all()


def test_a_client_without_data_has_empty_sums():
    data, empty = split(), split(0)
    for train, test in ((empty, data), (data, empty)):
        assert evaluate_client(state(), train, test, SETTINGS, Stream(0)).sums == RegressionSums()


def test_same_stream_same_weights():
    vectors = []
    for seed in (1, 1, 2):
        shared = state()
        local_update(shared, split(), SETTINGS, Stream(seed, "train"))
        vectors.append(shared.to_vector())
    assert (vectors[0] == vectors[1]).all()
    assert (vectors[0] != vectors[2]).any()


def test_the_test_targets_do_not_enter_the_standardiser():
    shared, train, test = state(), split(), split(seed=1)
    far = TensorSplit(test.inputs, test.labels + 1000.0)
    near, off = (evaluate_client(shared, train, t, SETTINGS, Stream(0)).sums for t in (test, far))
    assert off.absolute_error / off.n == pytest.approx(1000.0, rel=0.1)
    assert near.absolute_error / near.n < 20
