"""Clients that train a shared head: the update is FedAvg's, and the personal classifier is a tree about the head."""

import numpy as np
import pytest
import torch

from pfedgp_core.config import Settings
from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.errors import ConfigError
from pfedgp_core.methods.base import Upload
from pfedgp_core.model.features import compute_features
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.classifier import PersonalClassifier
from tests.core.methods.small_federation import CLASSES, SHAPE, data, method_of, rounds

HEAD = {"gp.prior-mean": "head", "objective": "softmax", "gp.output-scale": 4.0}


def test_start_and_update_are_those_of_fedavg() -> None:
    """Without momentum: so the network learns from round 1 on, which below a head of zeros it does not."""
    ours, theirs = method_of("pfedgp", **HEAD, momentum=0.9), method_of("fedavg", momentum=0.0)
    start, stream = ours.initial(), Stream(0, "train", 1, "a")
    np.testing.assert_array_equal(start, theirs.initial())
    first, second = (method.update(start, None, data(0), stream).upload for method in (ours, theirs))
    assert first is not None
    np.testing.assert_array_equal(first, second)


def test_a_head_changes_nothing_else_at_the_start() -> None:
    start = method_of("pfedgp", **HEAD).initial()
    without = method_of("pfedgp", objective="predictive").initial()
    np.testing.assert_array_equal(start[: len(without)], without)


@pytest.mark.parametrize("objective", ["softmax", "predictive", "marginal", "loo"])
def test_every_objective_moves_the_head(objective: str) -> None:
    method = method_of("pfedgp", **HEAD | {"objective": objective})
    state, _ = rounds(method, ["a", "b"], 2)
    head = slice(-(8 + 1) * CLASSES, None)
    assert np.abs(state[head]).max() > 1e-4
    assert np.isfinite(state).all()


def test_a_client_of_one_class_helps_to_train_the_head_and_one_without_samples_does_not() -> None:
    method = method_of("pfedgp", **HEAD)
    single = TensorSplit(data(0).inputs, torch.zeros(12, dtype=torch.int64))
    assert method.update(method.initial(), None, single, Stream(0)).result.status == "ok"
    none = TensorSplit(torch.zeros(0, *SHAPE), torch.zeros(0, dtype=torch.int64))
    assert method.update(method.initial(), None, none, Stream(0)).result.status == "no-data"


@pytest.mark.parametrize(
    ("changes", "remedy"),
    [
        ({"variant": "ip-data"}, "variant = 'full'"),
        ({"variant": "ip-compute"}, "variant = 'full'"),
        ({"task": "regression"}, "gp.prior-mean = 'zero'"),
        ({"gp.prior-mean": "zero"}, "gp.prior-mean = 'head'"),
        ({"dp-noise": 1.0}, "--preset zero-mean does, or dp-noise = 0"),
    ],
)
def test_what_does_not_go_together_is_refused_with_a_remedy(changes: dict[str, str], remedy: str) -> None:
    with pytest.raises(ConfigError, match=remedy):
        Settings.from_run_config(HEAD | changes)


@pytest.mark.slow
def test_few_samples_gain_by_what_the_federation_knows() -> None:
    """On one trained model and four samples a class, trees about its head beat trees about zero."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(CLASSES, *SHAPE)) * 1.3

    def drawn(n: int, seed: int) -> TensorSplit:
        labels = np.arange(n) % CLASSES
        noise = np.random.default_rng(seed).normal(size=(n, *SHAPE))
        return TensorSplit(torch.from_numpy(centres[labels] + noise).float(), torch.from_numpy(labels))

    method = method_of("pfedgp", **HEAD, **{"learning-rate": 0.3})
    state = method.initial()
    for t in range(15):
        uploads = []
        for i in range(10):
            update = method.update(state, None, drawn(16, i), Stream(0, "train", t, str(i)))
            assert update.upload is not None
            uploads.append(Upload(str(i), update.upload, state, 16))
        state = method.step(state, uploads)
    losses: dict[bool, list[float]] = {True: [], False: []}
    for i in range(10):
        test, own = drawn(200, 1000 + i), drawn(16, 100 + i)  # of clients that never trained
        shared = method.shared_state(state, None, own, Stream(0)).eval()  # type: ignore[attr-defined]
        features, new = (compute_features(shared.network, split.inputs) for split in (own, test))
        for about_head in (True, False):
            logits_of = shared.head if about_head else None
            tree = PersonalClassifier(method.settings, Stream(i), logits_of=logits_of).fit(features, own.labels)
            probabilities = tree.predict_proba(new)[np.arange(200), test.labels.numpy()]
            losses[about_head].append(-np.log(probabilities).mean())
    assert np.mean(losses[True]) < 0.9 * np.mean(losses[False])


def test_a_client_alone_has_no_head_of_random_values() -> None:
    method = method_of("pfedgp", **HEAD)
    head = slice(-(8 + 1) * CLASSES, None)
    alone, start = method.alone(), method.initial()
    assert start[head].all()
    assert not alone[head].any()
    np.testing.assert_array_equal(alone[: head.start], start[: head.start])
