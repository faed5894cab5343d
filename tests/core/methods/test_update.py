"""A client's update: learns, is reproducible, and survives clients with next to nothing to learn from."""

import numpy as np
import pytest
import torch

from pfedgp_core.config import Settings
from pfedgp_core.data.datasets import TensorSplit
from pfedgp_core.errors import NonFiniteError
from pfedgp_core.methods.evaluation import evaluate_client
from pfedgp_core.methods.update import local_update
from pfedgp_core.metrics.summary import summarise
from pfedgp_core.model.shared import SharedState
from pfedgp_core.numerics.streams import Stream

SETTINGS = Settings(network="mlp", feature_dim=8, local_epochs=3)


def split(n=30, k=2, d=5, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % k
    inputs = rng.normal(size=(k, d))[labels] + 0.5 * rng.normal(size=(n, d))
    return TensorSplit(torch.from_numpy(inputs).float(), torch.from_numpy(labels))


def state(settings=SETTINGS, d=5):
    return SharedState.initial(settings, (d,), 10)


def test_updates_lower_the_loss_and_classify():
    shared, data = state(), split()
    losses = [local_update(shared, data, SETTINGS, Stream(0, "train", r)).loss for r in range(15)]
    assert np.mean(losses[-3:]) < 0.6 * losses[0]
    result = evaluate_client(shared, data, split(seed=0), SETTINGS, Stream(0, "evaluate"))
    assert summarise(result.sums)["accuracy"] > 0.9
    assert set(result.seconds) == {"network", "gp"}


def test_same_stream_same_weights():
    vectors = []
    for seed in (1, 1, 2):
        shared = state()
        local_update(shared, split(), SETTINGS, Stream(seed, "train"))
        vectors.append(shared.to_vector())
    assert (vectors[0] == vectors[1]).all()
    assert (vectors[0] != vectors[2]).any()


@pytest.mark.parametrize(
    ("labels", "status"), [([], "no-data"), ([3, 3, 3], "single-class"), ([0, 1], "no-step"), ([0, 0, 0, 1], "ok")]
)
def test_clients_with_little_data_take_part(labels, status):
    shared = state()
    before = shared.to_vector()
    data = TensorSplit(torch.randn(len(labels), 5), torch.tensor(labels, dtype=torch.int64))
    result = local_update(shared, data, SETTINGS, Stream(0))
    assert result.status == status
    assert np.isfinite(shared.to_vector()).all()
    assert (shared.to_vector() == before).all() == (status != "ok")


def test_client_without_test_data_gives_empty_sums():
    empty = TensorSplit(torch.zeros(0, 5), torch.zeros(0, dtype=torch.int64))
    for train, test in ((split(), empty), (empty, split())):
        sums = evaluate_client(state(), train, test, SETTINGS, Stream(0)).sums
        assert sums.n == 0
        assert summarise(sums)["accuracy"] is None


def test_unseen_class_counts_as_an_error():
    train, test = split(k=2), split(k=3)
    sums = evaluate_client(state(), train, test, SETTINGS, Stream(0)).sums
    assert sums.n == 30
    assert sums.correct <= 20
    assert np.isfinite(sums.nll_sum)


def test_exploding_step_is_an_error_not_a_model():
    shared = state()
    with pytest.raises(NonFiniteError):
        for r in range(5):
            settings = SETTINGS.replace(learning_rate=1000.0, weight_decay=900.0, clip_norm=1e9, local_epochs=20)
            local_update(shared, split(), settings, Stream(0, r))


def test_non_finite_inputs_are_an_error():
    data = split()
    data.inputs[0, 0] = torch.nan
    with pytest.raises(NonFiniteError, match="features"):
        local_update(state(), data, SETTINGS, Stream(0))


def test_point_mean_weights_nodes_by_their_points():
    data = split(n=40, k=4)
    losses = {}
    for kind in ("node-mean", "point-mean"):
        settings = SETTINGS.replace(loss_normalisation=kind, local_epochs=1)
        losses[kind] = local_update(state(), data, settings, Stream(0)).loss
    # Three nodes: the root sees all held-out points, its children half each.
    assert losses["point-mean"] < losses["node-mean"] < 2 * losses["point-mean"]
