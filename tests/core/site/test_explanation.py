"""The samples behind an answer: their weights are the mean's own terms, and without them the answer is as stated."""

from typing import Any

import numpy as np
import pytest
import torch

from pfedgp_core.data.samples import Split
from pfedgp_core.errors import ConfigError
from pfedgp_core.gp.full import FullGP
from pfedgp_core.gp.prediction_cache import CachedNode
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.site.explanation import Explainer
from pfedgp_core.site.samples import SiteSamples
from pfedgp_core.site.saved import SavedSite
from tests.core.site.test_forgetting import named_site
from tests.core.site.test_saved import data, site_of

NEW = data(12, seed=1).inputs


def probability_without(site: SavedSite, gone: np.ndarray, features: torch.Tensor, name: str) -> float:
    """What a site that is made without some samples says of one input and a class."""
    keep = np.ones(len(site.samples), dtype=bool)
    keep[gone] = False
    other = SavedSite.fit(site.name, site.model, site.samples.take(keep))
    return float(other.predict_features(features).probabilities[0, other.class_names.index(name)])


def test_all_weights_sum_to_the_mean_on_the_path() -> None:
    site = site_of(40)
    features = site.model.features(NEW)
    predicted = site.predict_features(features).predicted
    found = Explainer(site, len(site.samples)).explain(features, predicted)
    expected = np.zeros(len(NEW))
    for node, (known, omega) in zip(site.classifier.tree_.nodes, site.classifier.nodes_, strict=True):
        mean = known.gp.predict(unit_sphere(features), omega)[0].mean(0).detach().double().numpy()
        expected += (np.isin(predicted, node.left).astype(int) - np.isin(predicted, node.right)) * mean
    np.testing.assert_allclose(found.weights.sum(axis=1), expected, atol=1e-3)
    assert (np.diff(found.weights, axis=1) <= 0).all()


def test_samples_whose_kernel_terms_take_each_other_away_are_not_named_for_answers_elsewhere() -> None:
    """Two near samples of either class on the other class's side, and an answer far from them.

    Each has by far the largest weight alpha of its class, as the posterior cannot fit it.
    """
    split = data(30, (0, 1))
    inputs, labels = split.inputs.copy(), split.labels.copy()
    first, second = np.flatnonzero(labels == 0), np.flatnonzero(labels == 1)
    inputs[first[0]] = inputs[second[1]] + np.float32(1e-3)  # one of class 0 among class 1
    inputs[second[0]] = inputs[first[1]] + np.float32(1e-3)
    model = site_of(30, (0, 1)).model
    site = SavedSite.fit("ward", model, SiteSamples.compute(Split(inputs, labels), model))
    ((known, omega),) = site.classifier.nodes_
    assert known.own is not None
    features = torch.from_numpy(site.samples.features)
    prediction = site.predict_features(features)
    right = prediction.predicted == site.samples.labels
    odd = np.flatnonzero(~right)
    assert len(odd) == 2
    cache = CachedNode(known.gp, omega)
    alpha = cache.weights.mean(0)[known.own.places[known.own.rows.argsort()]].abs().numpy()
    assert set(alpha.argsort()[-2:]) == set(odd.tolist())
    found = Explainer(site, 1).explain(features[right], prediction.predicted[right])
    assert not np.isin(found.rows[:, 0], odd).any()
    # What speaks most for an answer is of the answer's class.
    assert (site.samples.labels[found.rows[:, 0]] == prediction.predicted[right]).all()


def test_without_them_is_a_gaussian_process_on_the_others_at_the_same_omega() -> None:
    site = site_of(30, (0, 1))
    features = site.model.features(NEW)
    predicted = site.predict_features(features).predicted
    found = Explainer(site, 3, temperature=1.0).explain(features, predicted)
    ((known, omega),) = site.classifier.nodes_
    assert isinstance(known.gp, FullGP)
    assert known.own is not None
    for t in range(len(NEW)):
        keep = ~torch.isin(known.own.rows, torch.from_numpy(found.rows[t]))
        places = known.own.places[keep]
        solved = torch.linalg.inv(
            known.gp.gram[places][:, places].double() + torch.diag_embed(1 / omega[:, places].double())
        )
        cross, prior = (part.double() for part in known.gp.cross(unit_sphere(features[t : t + 1])))
        pull = solved @ cross[places]
        mu = (pull[..., 0] * (known.gp.kappa[places].double() / omega[:, places].double())).sum(1)
        v = prior - (cross[places] * pull).sum(1)[:, 0]
        grid = torch.from_numpy(np.random.default_rng(0).normal(size=20_000))
        left = float(torch.sigmoid(mu[:, None] + v.sqrt()[:, None] * grid).mean())
        side = left if predicted[t] in site.classifier.tree_.nodes[0].left else 1 - left
        assert found.without[t] == pytest.approx(side, abs=5e-3)


@pytest.mark.slow
def test_the_named_samples_change_the_answer_as_stated_and_random_ones_do_not() -> None:
    site = site_of(60)
    features = site.model.features(NEW)
    prediction = site.predict_features(features)
    found = Explainer(site, 3).explain(features, prediction.predicted)
    now = prediction.probabilities[np.arange(len(NEW)), prediction.predicted]
    rng, named, random = np.random.default_rng(0), [], []
    for t in range(len(NEW)):
        name = site.class_names[prediction.predicted[t]]
        named.append(probability_without(site, found.rows[t], features[t : t + 1], name))
        others = np.setdiff1d(np.arange(60), found.rows[t])
        random.append(probability_without(site, rng.permutation(others)[:3], features[t : t + 1], name))
    stated, real, chance = found.without - now, np.array(named) - now, np.array(random) - now
    # A new site draws omega anew, so it falls by more or less than was stated.
    falls = stated < -0.008
    assert falls.sum() >= 4
    assert ((real / stated)[falls] > 0.5).all()
    assert ((real / stated)[falls] < 2.5).all()
    assert np.corrcoef(stated, real)[0, 1] > 0.9
    assert abs(chance.mean()) < abs(real.mean()) / 2


@pytest.mark.parametrize(
    "options",
    [{}, {"variant": "ip-data", "inducing_per_class": 6}, {"variant": "ip-compute", "inducing_per_class": 60}],
)
def test_variants_that_keep_their_samples_explain(options: dict[str, Any]) -> None:
    site = named_site(range(60), **options)
    features = site.model.features(NEW)
    prediction = site.predict_features(features, 0.5)
    weights = np.array([1.0, 0.5, 0.25])
    found = Explainer(site, 60, 0.5, weights).explain(features, prediction.predicted)
    assert found.rows.shape == (12, 60)
    assert ((found.without > 0) & (found.without <= 1)).all()


def test_others_refuse() -> None:
    site = named_site(range(60), variant="ip-compute", inducing_per_class=6)
    with pytest.raises(ConfigError, match="sums its samples up"):
        Explainer(site, 3)
    with pytest.raises(ConfigError, match="--explain 61"):
        Explainer(named_site(range(60)), 61)
