"""pFedGP on whitened features: the metric comes from the federation, and it helps where clients cannot know it."""

import numpy as np
import pytest
import torch

from pfedgp_core.errors import ConfigError
from pfedgp_core.floors.discriminant import whitening
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.model.features import compute_features
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.classifier import PersonalClassifier
from tests.core.methods.small_federation import CLASSES, SHAPE, data, method_of, settings_of

WIDTH = 8


def covariance_of(seed: int, d: int) -> torch.Tensor:
    root = torch.randn(d, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return root @ root.T / d


@pytest.mark.parametrize("shrinkage", [0.0, 0.3])
def test_whitened_features_have_the_identity_as_their_shrunk_covariance(shrinkage: float) -> None:
    covariance = covariance_of(0, 6)
    root = whitening(covariance, shrinkage)
    mean = covariance.diagonal().mean()
    shrunk = (1 - shrinkage) * covariance + shrinkage * mean * torch.eye(6, dtype=torch.float64)
    torch.testing.assert_close(root @ shrunk @ root, torch.eye(6, dtype=torch.float64), atol=1e-8, rtol=0)
    torch.testing.assert_close(root, root.T)


def test_a_covariance_that_noise_has_spoilt_still_gives_a_finite_metric() -> None:
    assert torch.isfinite(whitening(covariance_of(0, 6) - 0.5 * torch.eye(6), 0.0)).all()
    assert torch.isfinite(whitening(torch.zeros(6, 6), 0.1)).all()


def test_the_classifier_is_the_tree_on_features_whitened_by_what_the_server_sent() -> None:
    method, train, test = method_of("whitened"), data(0), data(1)
    received = method.initial()
    triangle = np.triu_indices(WIDTH)
    covariance = covariance_of(1, WIDTH).numpy().astype(np.float32)
    received[-len(triangle[0]) :] = covariance[triangle]
    stream = Stream(0, "evaluate", "a")
    found = method.personal(received, None, train, stream)
    network = method_of("pfedgp")._state.network.eval()  # type: ignore[attr-defined]
    root = whitening(torch.from_numpy(covariance), 0.1).float()
    whitened = [unit_sphere(compute_features(network, split.inputs)) @ root for split in (train, test)]
    expected = PersonalClassifier(settings_of("pfedgp"), Stream(0, "evaluate", "a")).fit(whitened[0], train.labels)
    assert found.classes_.tolist() == list(range(CLASSES))
    np.testing.assert_allclose(found.predict_proba(test.inputs), expected.predict_proba(whitened[1]), atol=1e-5)


def test_the_metric_tells_what_a_client_of_few_samples_cannot_know() -> None:
    """Two classes differ where they spread little; the directions of large spread hide it from the plain tree."""
    rng = np.random.default_rng(0)
    labels = np.arange(210) % 2
    deviations = np.array([0.1, 1, 1, 1, 1, 1])
    features = rng.normal(size=(210, 6)) * deviations + 0.2 * np.eye(6)[0] * (2 * labels - 1)[:, None]
    root = whitening(torch.from_numpy(np.diag(deviations**2)), 0.01).numpy()
    right = []
    for shown in (features, features @ root):
        tree = PersonalClassifier(settings_of("pfedgp"), Stream(0)).fit(shown[:10], labels[:10])
        right.append((tree.predict(shown[10:]) == labels[10:]).mean())
    assert right[1] > right[0] + 0.1


def test_inducing_inputs_which_were_not_learned_there_are_refused() -> None:
    with pytest.raises(ConfigError, match="set variant = 'full'"):
        method_of("whitened", variant="ip-data")


def test_the_server_starts_from_a_metric_that_changes_no_direction() -> None:
    method = method_of("whitened")
    covariance = method.covariance(method.initial())  # type: ignore[attr-defined]
    torch.testing.assert_close(covariance, torch.eye(WIDTH) / WIDTH)
    assert method.input_shape == SHAPE
