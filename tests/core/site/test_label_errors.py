"""Flipped labels of a site are found among its own samples."""

import numpy as np
import pytest

from pfedgp_core.data.samples import Split
from pfedgp_core.errors import ConfigError
from pfedgp_core.site.label_errors import suspects
from pfedgp_core.site.origins import Origin
from pfedgp_core.site.samples import SiteSamples
from pfedgp_core.site.saved import SavedSite
from tests.core.site.test_saved import model_of, site_of


@pytest.mark.parametrize("seed", range(3))
def test_of_the_most_suspicious_samples_most_are_flipped(seed: int) -> None:
    model, rng = model_of(), np.random.default_rng(seed)
    truth = np.array([0, 1, 3])[np.arange(200) % 3]
    # Classes that hardly overlap: elsewhere a right label looks as wrong as a flipped one.
    split = Split((np.eye(5)[truth] * 3 + rng.normal(scale=0.5, size=(200, 5))).astype(np.float32), truth)
    flipped, labels = rng.permutation(200)[:10], split.labels.copy()
    labels[flipped] = np.array([1, 3, 0])[np.searchsorted([0, 1, 3], labels[flipped])]
    origins = [Origin(str(i), "", 0) for i in range(200)]
    site = SavedSite.fit("ward", model, SiteSamples.compute(Split(split.inputs, labels), model, origins))
    found = suspects(site)
    named = {int(site.samples.origins[row].id) for row in found.rows[:10]}
    assert len(named & set(flipped.tolist())) >= 8
    right = [
        likeliest == split.labels[int(site.samples.origins[row].id)]
        for row, likeliest in zip(found.rows[:10], found.likeliest[:10], strict=True)
    ]
    assert sum(right) >= 9


def test_probabilities_are_those_without_the_sample_itself() -> None:
    site = site_of(40)
    found = suspects(site)
    left_out = np.exp(site.classifier.leave_one_out_log_proba())
    own = left_out[np.arange(40), np.searchsorted(site.classifier.classes_, site.samples.labels)]
    np.testing.assert_allclose(found.probability, np.sort(own), rtol=1e-6)
    assert sorted(found.rows.tolist()) == list(range(40))


def test_one_class_says_nothing() -> None:
    with pytest.raises(ConfigError, match="one class"):
        suspects(site_of(10, (1,)))
