"""The classifier as plain operations gives the classifier's own answers, whatever its nodes are."""

from typing import Any

import numpy as np
import pytest
import torch

from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.errors import ConfigError
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.metrics.temperature import temperature_scale
from pfedgp_core.tree.classifier import PersonalClassifier
from pfedgp_core.tree.portable import PortableTree, moments

GP = {"train_chains": 6, "predict_chains": 8, "sweeps": 3, "predict_sweeps": 5}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], int]] = {
    "full": ({}, {}, 40),
    "one class of two samples": ({}, {}, 6),
    "shared factors": ({}, {"solver": "iterative"}, 40),
    "many points": ({}, {}, 220),
    "matern12": ({}, {"kernel": "matern12"}, 40),
    "matern52": ({}, {"kernel": "matern52", "length_scale": 0.5}, 40),
    "linear": ({}, {"kernel": "linear"}, 40),
    "scale 8": ({}, {"output_scale": 8.0}, 40),
    "scale 128": ({}, {"output_scale": 128.0}, 40),
    "quadrature": ({}, {"quadrature": 32}, 40),
    "chain-geo": ({}, {"link": "chain-geo"}, 40),
    "ip-compute, fewer points": ({"variant": "ip-compute"}, {}, 20),
    "ip-compute, more points": ({"variant": "ip-compute"}, {}, 120),
    "ip-data": ({"variant": "ip-data"}, {}, 40),
}


def fitted(case: str, classes: int = 3) -> tuple[PersonalClassifier, torch.Tensor]:
    """A classifier, and features near and far from what it knows."""
    changes, gp, n = CASES[case]
    settings = Settings(gp=GPSettings(**(GP | gp)), **changes)
    generator = torch.Generator().manual_seed(1)
    centres = torch.randn(classes, 8, generator=generator)
    labels = torch.arange(n) % classes
    features = centres[labels] + 0.4 * torch.randn(n, 8, generator=generator)
    inducing = None
    if settings.variant != "full":
        inducing = centres[:, None] + 0.3 * torch.randn(classes, 10, 8, generator=generator)
    kernel = make_kernel(settings.gp.kernel, settings.gp.output_scale, settings.gp.length_scale)
    classifier = PersonalClassifier(settings, inducing=inducing, kernel=kernel).fit(features, labels)
    new = torch.cat([features[:10], centres, torch.randn(60, 8, generator=generator)])
    return classifier, new


@pytest.mark.parametrize("temperature", [1.0, 0.3, 4.6])
@pytest.mark.parametrize("case", CASES)
def test_answers_are_the_classifiers_own(case: str, temperature: float) -> None:
    classifier, new = fitted(case)
    with torch.no_grad():
        mean, variance, probabilities = PortableTree(classifier, temperature)(new)
    own = temperature_scale(classifier.predict_proba(new), temperature)
    np.testing.assert_allclose(probabilities.numpy(), own, rtol=0, atol=1e-4)
    prior = classifier.settings.gp.output_scale
    own_mean, own_variance = moments(classifier, new)
    np.testing.assert_allclose(mean.numpy() / prior**0.5, own_mean.numpy() / prior**0.5, rtol=0, atol=1e-4)
    np.testing.assert_allclose(variance.numpy() / prior, own_variance.numpy() / prior, rtol=0, atol=1e-4)


def test_what_is_not_exported_is_named() -> None:
    classifier, new = fitted("full")
    alone = PersonalClassifier(classifier.settings).fit(new, torch.zeros(len(new)))
    with pytest.raises(ConfigError, match="one class and always answers it"):
        PortableTree(alone, 1.0)
    classifier.settings = Settings(gp=GPSettings(link="paper-explog"))
    with pytest.raises(ConfigError, match="paper-explog"):
        PortableTree(classifier, 1.0)
