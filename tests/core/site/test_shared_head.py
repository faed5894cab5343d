"""A site on a model with a shared head: the client of the simulation, after a save, a change of samples, an export."""

from pathlib import Path

import numpy as np
import torch

from pfedgp_core.config import Settings
from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.methods.make import make_method, require_onboards
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.site.explanation import Explainer
from pfedgp_core.site.samples import SiteSamples
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.site.trained_model import TrainedModel
from pfedgp_core.tree.portable import PortableTree
from tests.core.site.test_saved import CLASSES, data

NEW = data(30, seed=1).inputs


def model() -> TrainedModel:
    """Of a network as it starts, and a head of random weights."""
    config = {"network": "mlp", "feature-dim": 8, "gp.prior-mean": "head", "objective": "softmax"}
    settings = Settings.from_run_config(config | {"gp.output-scale": 4.0})
    vector = make_method(settings, (5,), len(CLASSES)).initial()
    width = 9 * len(CLASSES)
    vector[-width:] = np.random.default_rng(0).normal(size=width)
    return TrainedModel(vector, settings, CLASSES, (5,), np.zeros(5, np.float32), np.ones(5, np.float32))


def site_of(of: TrainedModel, n: int = 40, classes: tuple[int, ...] = (0, 1, 3)) -> SavedSite:
    return SavedSite.fit("ward", of, SiteSamples.compute(data(n, classes), of))


def test_it_is_the_client_of_the_simulation() -> None:
    of = model()
    require_onboards(of.settings)
    site = site_of(of)
    method = make_method(of.settings, (5,), len(CLASSES))
    split = data(40, (0, 1, 3))
    features = of.features_one_by_one(split.inputs).numpy()
    rows = [int(np.flatnonzero((features == row).all(axis=1))[0]) for row in site.samples.features]
    train = TensorSplit(torch.from_numpy(split.inputs[rows]), torch.from_numpy(split.labels[rows]))
    predictor = method.personal(of.vector, None, train, Stream(of.settings.seed, "site"))
    np.testing.assert_allclose(site.predict_proba(NEW), predictor.predict_proba(torch.from_numpy(NEW)), atol=1e-5)


def test_a_saved_and_loaded_site_answers_to_the_bit(tmp_path: Path) -> None:
    site = site_of(model())
    site.save(tmp_path / "site")
    np.testing.assert_array_equal(SavedSite.load(tmp_path / "site").predict_proba(NEW), site.predict_proba(NEW))


def test_all_samples_without_themselves_are_what_explanations_say() -> None:
    """Without all of a site's samples on a node, what is left there is the head."""
    site = site_of(model(), 12, (0, 1))
    features = site.model.features(NEW)
    predicted = site.predict_features(features).predicted
    found = Explainer(site, len(site.samples), temperature=1.0).explain(features, predicted)
    wide = site.classifier.head_logits(features)
    assert wide is not None
    odds = (wide[:, 0] - wide[:, 1]).detach().double()[:, None]
    spread = (site.model.settings.gp.output_scale + site.model.settings.gp.jitter) ** 0.5
    grid = torch.from_numpy(np.random.default_rng(0).normal(size=20_000))
    left = torch.sigmoid(odds + spread * grid).mean(1).numpy()
    np.testing.assert_allclose(found.without, np.where(predicted == 0, left, 1 - left), atol=0.02)
    assert found.head is not None
    np.testing.assert_allclose(found.head, np.where(predicted == 0, 1, -1) * odds[:, 0].numpy(), atol=1e-6)


def test_the_portable_tree_is_the_same_classifier() -> None:
    site = site_of(model())
    features = site.model.features(NEW)
    with torch.no_grad():
        _, _, probabilities = PortableTree(site.classifier, 1.0).eval()(features)
    np.testing.assert_allclose(probabilities, site.predict_features(features, 1.0).probabilities, atol=1e-4)
