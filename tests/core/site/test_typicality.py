"""How typical an input is: the variance by its definition, each sample from all others, and classes nobody has seen."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from pfedgp_core.data.own.samples import Samples
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.site.samples import SiteSamples
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.site.streamed import predictions
from pfedgp_core.site.typicality import NOISE, Typicality
from tests.table_site import COLUMNS, rows, table_site


def site_of(features: np.ndarray, labels: np.ndarray) -> SavedSite:
    """The table's site with other samples, which are given by their features."""
    site, n = table_site(), len(features)
    digests = np.arange(32 * n, dtype=np.uint8).reshape(n, 32)
    return replace(site, samples=SiteSamples(features.astype(np.float32), labels, digests))


def test_the_scores_are_the_variances_of_the_definition() -> None:
    site = table_site()
    found = Typicality.of(site)
    points = unit_sphere(torch.from_numpy(site.samples.features).double())
    new = site.model.features(rows(5, seed=7))
    kernel, scale = site.classifier.kernel, float(site.classifier.kernel.output_scale)
    gram = kernel.cross(points, points) + NOISE * scale * torch.eye(len(points))
    cross = kernel.cross(unit_sphere(new.double()), points)
    expected = scale - (cross * torch.linalg.solve(gram, cross.T).T).sum(1)
    np.testing.assert_allclose(found.scores(new), expected.numpy(), rtol=1e-7, atol=1e-9)
    others = torch.arange(len(points)) != 3
    alone = kernel.cross(points[3:4], points[others])
    left = scale - (alone * torch.linalg.solve(gram[others][:, others], alone.T).T).sum()
    assert np.abs(found.left_out - float(left)).min() < 1e-7 * scale


def test_samples_of_known_kinds_are_typical_as_often_as_chance_says_and_others_are_not() -> None:
    draw = np.random.default_rng(0)
    centres = np.eye(8)[:3] * 4
    kinds = draw.integers(0, 2, 300)
    features = centres[kinds] + 0.4 * draw.normal(size=(300, 8))
    found = Typicality.of(site_of(features[:200], kinds[:200]))
    known = found.shares(torch.from_numpy(features[200:].astype(np.float32)))
    strange = found.shares(torch.from_numpy((centres[2] + 0.4 * draw.normal(size=(50, 8))).astype(np.float32)))
    assert (known <= 0.1).mean() < 0.25
    assert 0.35 < known.mean() < 0.65
    assert strange.max() == found.smallest == pytest.approx(1 / 201)


def test_equal_samples_count_once() -> None:
    features = np.random.default_rng(1).normal(size=(20, 8))
    once = Typicality.of(site_of(features, np.arange(20) % 2))
    copies = Typicality.of(site_of(np.repeat(features, 3, axis=0), np.repeat(np.arange(20) % 2, 3)))
    np.testing.assert_allclose(copies.left_out, once.left_out)


def test_a_row_is_doubtful_by_either_bound() -> None:
    site, inputs = table_site(), np.concatenate([rows(8), 50 * rows(1)])
    samples = Samples(inputs, tuple(map(str, range(9))), None, COLUMNS)
    (part,) = predictions(site, [samples], 1.0, typicality=Typicality.of(site))
    assert part.typical is not None
    largest = part.prediction.probabilities.max(axis=1)
    bound = float(np.median(part.typical))
    np.testing.assert_array_equal(part.doubtful(0.0, bound), part.typical < bound)
    np.testing.assert_array_equal(part.doubtful(0.8, bound), (largest < 0.8) | (part.typical < bound))
    (plain,) = predictions(site, [samples], 1.0)
    assert plain.typical is None
    np.testing.assert_array_equal(plain.doubtful(0.8), largest < 0.8)
