"""A shared head with whitened features: distances are in the metric, and the head reads the features as they are."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from pfedgp_core.errors import ConfigError
from pfedgp_core.methods.make import make_method
from pfedgp_core.model.features import compute_features
from pfedgp_core.model.metric import Metric
from pfedgp_core.model.shared_head import SharedHead, random_start
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.site.explanation import Explainer
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.site.trained_model import TrainedModel
from pfedgp_core.tree.portable import PortableTree
from tests.core.methods.small_federation import CLASSES, data, method_of, rounds, settings_of
from tests.core.site.test_saved import CLASSES as NAMES
from tests.core.site.test_saved import data as samples
from tests.core.site.test_whitened_site import in_simulation, in_the_order_of_the_site, site_of

HEAD = {"gp.prior-mean": "head", "objective": "softmax", "gp.output-scale": 4.0}
WIDTH = 8


def model() -> TrainedModel:
    """A network as it starts, a head of large weights and a random metric."""
    settings = settings_of("whitened", **HEAD)
    vector, rng = make_method(settings, (5,), len(NAMES)).initial(), np.random.default_rng(0)
    triangle = WIDTH * (WIDTH + 1) // 2
    head = slice(len(vector) - triangle - 9 * len(NAMES), len(vector) - triangle)
    vector[head] = rng.normal(size=9 * len(NAMES))
    root = rng.normal(size=(WIDTH, WIDTH))
    vector[-triangle:] = (root @ root.T / WIDTH)[np.triu_indices(WIDTH)]
    return TrainedModel(vector, settings, NAMES, (5,), np.zeros(5, np.float32), np.ones(5, np.float32))


def test_the_head_behind_a_metric_is_the_head() -> None:
    head, generator = SharedHead(6, 3), torch.Generator().manual_seed(0)
    random_start(head, 0)
    root = torch.randn(6, 6, generator=generator)
    features = 5 * torch.randn(9, 6, generator=generator)
    metric = Metric(root @ root.T + torch.eye(6), head)
    assert metric.head is not None
    torch.testing.assert_close(metric.head(metric(features)), head(features), atol=1e-4, rtol=0)


def test_training_is_that_of_pfedgp_and_the_head_is_the_prior_mean() -> None:
    """The trees' prior means are the head's log odds of the network's features, not of whitened ones."""
    method = method_of("whitened", **HEAD)
    state, _ = rounds(method, ["a", "b"], 2)
    plain, _ = rounds(method_of("pfedgp", **HEAD), ["a", "b"], 2)
    np.testing.assert_array_equal(state[: len(plain)], plain)
    predictor = method.personal(state, None, data(0), Stream(0, "evaluate", "a"))
    shared = method.shared_state(state, None, data(0), Stream(0))  # type: ignore[attr-defined]
    expected = shared.head(compute_features(shared.network, data(0).inputs))
    found = predictor.tree._points.logits  # type: ignore[attr-defined]
    assert found.shape == (12, CLASSES)
    torch.testing.assert_close(found, expected.detach(), atol=1e-4, rtol=0)


def test_without_a_metric_it_is_pfedgp() -> None:
    """The covariance before round 1 is that of a random direction, so a client has the tree of ``pfedgp``."""
    methods = method_of("whitened", **HEAD), method_of("pfedgp", **HEAD)
    fitted = [method.personal(method.initial(), None, data(0), Stream(0, "a")) for method in methods]
    answers = [predictor.predict_proba(data(1).inputs) for predictor in fitted]
    np.testing.assert_allclose(*answers, atol=1e-4)


def test_a_site_is_the_client_of_the_simulation(tmp_path: Path) -> None:
    site, new = site_of(model()), samples(30, seed=1).inputs
    predictor = in_simulation(site.model, in_the_order_of_the_site(site))
    np.testing.assert_allclose(site.predict_proba(new), predictor.predict_proba(torch.from_numpy(new)), atol=1e-5)
    site.save(tmp_path / "site")
    np.testing.assert_array_equal(SavedSite.load(tmp_path / "site").predict_proba(new), site.predict_proba(new))


def test_answers_explanations_and_exports_have_the_head_of_plain_features() -> None:
    site = site_of(model())
    inputs = samples(30, seed=1).inputs
    features = site.model.features(inputs)
    plain = replace(site.model, settings=site.model.settings.replace(method="pfedgp"), vector=site.model.vector[:-36])
    expected = plain.state.head(plain.features(inputs))[:, site.classifier.classes_]  # type: ignore[misc]
    logits = site.classifier.head_logits(features)
    torch.testing.assert_close(logits, expected, atol=1e-4, rtol=0)
    found = Explainer(site, 3).explain(features, np.zeros(30, int))
    assert found.head is not None
    with torch.no_grad():
        _, _, probabilities = PortableTree(site.classifier, 1.0).eval()(features)
    np.testing.assert_allclose(probabilities, site.predict_features(features, 1.0).probabilities, atol=1e-4)


@pytest.mark.parametrize("method", ["class-mean", "lda", "softmax-head", "whitened"])
def test_floors_are_measured_on_what_a_head_has_trained(method: str) -> None:
    trained = method_of(method, **HEAD)
    state, _ = rounds(trained, ["a", "b"], 2)
    plain, _ = rounds(method_of("pfedgp", **HEAD), ["a", "b"], 2)
    np.testing.assert_array_equal(state[: len(plain)], plain)
    answers = trained.personal(state, None, data(0), Stream(0)).predict_proba(data(1).inputs)
    np.testing.assert_allclose(answers.sum(1), 1)


def test_clients_that_share_nothing_have_no_shared_head() -> None:
    with pytest.raises(ConfigError, match="--preset zero-mean does, or method = 'pfedgp'"):
        method_of("local", **HEAD)
