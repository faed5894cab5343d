"""A site on a whitened model: its classifier is the one that a client which never trained has in the simulation."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pfedgp_core.config import Settings
from pfedgp_core.data.samples import Split, TensorSplit
from pfedgp_core.errors import DataError
from pfedgp_core.methods.make import make_method, require_onboards
from pfedgp_core.methods.whitened import WhitenedPredictor, WhitenedTree
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.site.own_temperature import own_temperature
from pfedgp_core.site.samples import SiteSamples
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.site.trained_model import TrainedModel
from tests.core.site.test_saved import CLASSES, data

WIDTH = 8


def model_of(method: str = "whitened", **options: Any) -> TrainedModel:
    """A model whose covariance has a random metric."""
    settings = Settings(method=method, network="mlp", feature_dim=WIDTH, **options)
    vector = make_method(settings, (5,), len(CLASSES)).initial()
    if method == "whitened":
        root = np.random.default_rng(0).normal(size=(WIDTH, WIDTH))
        vector[-WIDTH * (WIDTH + 1) // 2 :] = (root @ root.T / WIDTH)[np.triu_indices(WIDTH)]
    return TrainedModel(vector, settings, CLASSES, (5,), np.zeros(5, np.float32), np.ones(5, np.float32))


def site_of(model: TrainedModel, classes: tuple[int, ...] = (0, 1, 3)) -> SavedSite:
    return SavedSite.fit("ward", model, SiteSamples.compute(data(40, classes), model))


def in_simulation(model: TrainedModel, train: Split) -> WhitenedPredictor:
    """The classifier of a client that never trained, with the draws of a site."""
    method = make_method(model.settings, model.input_shape, len(CLASSES))
    split = TensorSplit(torch.from_numpy(train.inputs), torch.from_numpy(train.labels))
    predictor = method.personal(model.vector, None, split, Stream(model.settings.seed, "site"))
    assert isinstance(predictor, WhitenedPredictor)
    return predictor


def in_the_order_of_the_site(site: SavedSite) -> Split:
    split = data(40)
    features = site.model.features_one_by_one(split.inputs).numpy()
    rows = [int(np.flatnonzero((features == row).all(axis=1))[0]) for row in site.samples.features]
    return Split(split.inputs[rows], split.labels[rows])


def test_its_probabilities_are_those_of_a_client_of_the_simulation_that_never_trained() -> None:
    site, new = site_of(model_of()), data(30, seed=1).inputs
    predictor = in_simulation(site.model, in_the_order_of_the_site(site))
    np.testing.assert_allclose(site.predict_proba(new), predictor.predict_proba(torch.from_numpy(new)), atol=1e-5)
    left_out = site.classifier.leave_one_out_log_proba(), predictor.leave_one_out_log_proba()
    np.testing.assert_allclose(*left_out, atol=1e-4)


def test_on_the_same_features_they_are_so_to_the_bit() -> None:
    site = site_of(model_of())
    predictor = in_simulation(site.model, data(40))
    raw = torch.randn(20, WIDTH, generator=torch.Generator().manual_seed(3))
    labels = torch.arange(20) % 2
    metric, stream = predictor.classifier.metric, Stream(0, "site")  # type: ignore[attr-defined]
    kernel = site.model.state.kernel(site.model.settings)
    tree = WhitenedTree(metric, site.model.settings, stream, kernel, raw, labels)
    expected = tree.log_probabilities(raw).numpy()
    found = tree.tree.predict_log_proba(site.model._in_metric(raw))
    np.testing.assert_array_equal(found, expected)


def test_the_covariance_is_part_of_the_model() -> None:
    model, new = model_of(), data(30, seed=1).inputs
    flat = model.vector.copy()
    flat[-WIDTH * (WIDTH + 1) // 2 :] = (np.eye(WIDTH) / WIDTH)[np.triu_indices(WIDTH)]
    other = replace(model, vector=flat.astype(np.float32))
    assert other.sha256 != model.sha256
    assert np.abs(site_of(model).predict_proba(new) - site_of(other).predict_proba(new)).max() > 0.01
    # A metric that changes no direction leaves the classifier of pFedGP; of two classes there is one tree.
    plain = replace(model_of("pfedgp"), vector=other.vector[: -WIDTH * (WIDTH + 1) // 2])
    found = (site_of(each, (0, 3)).predict_proba(new) for each in (other, plain))
    np.testing.assert_allclose(*found, atol=1e-4)


def test_a_saved_site_comes_back_and_chooses_its_temperature(tmp_path: Path) -> None:
    site, new = site_of(model_of()), data(30, seed=1).inputs
    site.save(tmp_path / "ward")
    loaded = SavedSite.load(tmp_path / "ward")
    np.testing.assert_allclose(loaded.predict_proba(new), site.predict_proba(new), atol=1e-6)
    assert own_temperature(loaded) == own_temperature(site) != 1


def test_shrinkage_is_that_of_the_run() -> None:
    model = model_of()
    settings = Settings.from_run_config(model.settings.to_run_config() | {"whitened.shrinkage": 1.0})
    new = data(30, seed=1).inputs
    shrunk, plain = site_of(replace(model, settings=settings)), site_of(model)
    assert np.abs(shrunk.predict_proba(new) - plain.predict_proba(new)).max() > 0.01


def test_models_of_the_method_can_be_onboarded() -> None:
    require_onboards(model_of().settings)


@pytest.mark.parametrize("cut", [1, 36, 60])
def test_a_vector_of_another_length_is_refused(cut: int) -> None:
    model = model_of()
    with pytest.raises(DataError, match="The shared vector"):
        replace(model, vector=model.vector[:-cut]).prepare()
    with pytest.raises(DataError, match="The shared vector"):
        replace(model, vector=model.vector[:cut]).prepare()
