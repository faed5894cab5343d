"""Floors on pFedGP's features: trained alike, and the covariance that linear discriminants learn together."""

import numpy as np
import pytest
import torch

from pfedgp_core.floors.discriminant import within_covariance
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.model.features import compute_features
from pfedgp_core.numerics.streams import Stream
from tests.core.methods.small_federation import data, method_of, rounds, same

FLOORS = ("class-mean", "lda", "softmax-head", "whitened")
TRIANGLE = 8 * 9 // 2


@pytest.mark.parametrize("floor", FLOORS)
def test_the_network_is_trained_as_pfedgp_trains_it(floor: str) -> None:
    trained, _ = rounds(method_of(floor), ["a"], 1)
    expected, _ = rounds(method_of("pfedgp"), ["a"], 1)
    assert same(trained[: len(expected)], expected)


@pytest.mark.parametrize("floor", FLOORS)
def test_only_own_classes_are_known(floor: str) -> None:
    method, samples = method_of(floor), data(0)
    samples.labels[samples.labels == 2] = 0
    predictor = method.personal(method.initial(), None, samples, Stream(0, "evaluate", "a"))
    assert predictor.classes_.tolist() == [0, 1, 3]


def test_no_step_of_the_softmax_head_leaves_equal_probabilities() -> None:
    method = method_of("softmax-head", **{"softmax-head.steps": 0})
    predictor = method.personal(method.initial(), None, data(0), Stream(0, "evaluate", "a"))
    np.testing.assert_allclose(predictor.predict_proba(data(1).inputs), 0.25)


def test_a_client_of_lda_sends_the_covariance_under_the_network_received() -> None:
    method = method_of("lda")
    update = method.update(method.initial(), None, data(0), Stream(0, "train", 1, "a"))
    network = method_of("pfedgp")._state.network.eval()
    expected = within_covariance(unit_sphere(compute_features(network, data(0).inputs)), data(0).labels)
    np.testing.assert_allclose(update.upload[-TRIANGLE:], expected.numpy()[np.triu_indices(8)], atol=1e-6)


def test_the_server_of_lda_keeps_a_part_of_the_former_covariance() -> None:
    method = method_of("lda", **{"lda.memory": 0.75})
    state, _ = rounds(method, ["a"], 1)
    sent = method.update(method.initial(), None, data(0), Stream(0, "train", 1, "a")).upload
    expected = 0.75 * method.initial()[-TRIANGLE:] + 0.25 * sent[-TRIANGLE:]
    np.testing.assert_allclose(state[-TRIANGLE:], expected, atol=1e-7)


def test_the_covariance_of_lda_is_symmetric_again_at_the_client() -> None:
    method = method_of("lda", **{"lda.shrinkage": 0.0})
    received = method.initial()
    received[-TRIANGLE:] = np.arange(1, TRIANGLE + 1) / 100 + np.eye(8, dtype=np.float32)[np.triu_indices(8)] * 9
    whole = np.zeros((8, 8), np.float32)
    whole[np.triu_indices(8)] = received[-TRIANGLE:]
    classifier = method.classifier(received, torch.eye(8)[:4], torch.arange(4))
    means, both = np.eye(8)[:4], whole + np.triu(whole, 1).T
    weights = np.linalg.solve(both, means.T)
    expected = means @ weights - 0.5 * (means.T * weights).sum(0)
    got = classifier.log_probabilities(torch.eye(8)[:4])
    np.testing.assert_allclose(got, torch.log_softmax(torch.from_numpy(expected), 1), atol=1e-5)
