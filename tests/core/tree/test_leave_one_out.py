"""Leave-one-out of a whole classifier: every variant against one that is fitted again without the sample."""

from collections import Counter

import numpy as np
import pytest
import torch

from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.gp.full import FullGP
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.classifier import PersonalClassifier
from pfedgp_core.tree.variants.full import Full

CHAINS = GPSettings(predict_chains=1000, predict_sweeps=15)


MEANS = np.array([[3.0, 0, 0, 0], [2, 2, 0, 0], [-3, 0, 0, 0]])  # one way to split them, whichever sample is left out


def data(n: int, k: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    labels = np.arange(n) % k
    features = MEANS[labels] + np.random.default_rng(seed).normal(size=(n, 4))
    return torch.from_numpy(features), torch.from_numpy(labels)


def inducing_of(features: torch.Tensor, labels: torch.Tensor, k: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    means = torch.stack([features[labels == c].mean(0) for c in range(k)])[:, None]
    return means + torch.randn(k, 4, 4, generator=generator, dtype=torch.float64)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["full", "ip-data", "ip-compute"])
def test_it_is_the_prediction_of_a_classifier_fitted_without_the_sample(variant: str) -> None:
    features, labels = data(14, 3)
    inducing = None if variant == "full" else inducing_of(features, labels, 3)
    settings = Settings(variant=variant, gp=CHAINS)
    classifier = PersonalClassifier(settings, Stream(0), inducing).fit(features, labels)
    found = np.exp(classifier.leave_one_out_log_proba())
    np.testing.assert_allclose(found.sum(1), 1, atol=1e-5)
    for i in (0, 1, 5, 12):
        kept = torch.arange(14) != i
        again = PersonalClassifier(settings, Stream(1), inducing).fit(features[kept], labels[kept])
        assert {(node.left, node.right) for node in again.tree_.nodes} == {
            (node.left, node.right) for node in classifier.tree_.nodes
        }
        np.testing.assert_allclose(found[i], again.predict_proba(features[i, None])[0], atol=0.03)


def test_a_sample_does_not_speak_for_itself() -> None:
    """A sample with a wrong label is predicted to be what it is, and not what its label says."""
    features, labels = data(40, 2)
    features[0], labels[0] = features[labels == 1].mean(0), 0
    classifier = PersonalClassifier(Settings(), Stream(0)).fit(features, labels)
    assert np.exp(classifier.leave_one_out_log_proba())[0, 0] < classifier.predict_proba(features[:1])[0, 0]


def test_without_personal_data_nothing_has_to_be_left_out() -> None:
    features, labels = data(20, 2)
    settings = Settings(variant="ip-data", personal_data=False)
    classifier = PersonalClassifier(settings, Stream(0), inducing_of(features, labels, 2)).fit(features, labels)
    np.testing.assert_allclose(classifier.leave_one_out_log_proba(), classifier.predict_log_proba(features), atol=1e-12)


def test_a_single_class_is_certain() -> None:
    classifier = PersonalClassifier(Settings(), Stream(0)).fit(*data(5, 1))
    np.testing.assert_array_equal(classifier.leave_one_out_log_proba(), np.zeros((5, 1)))


def test_a_restored_classifier_has_the_same() -> None:
    features, labels = data(12, 3)
    fitted = PersonalClassifier(Settings(), Stream(0)).fit(features, labels)
    restored = PersonalClassifier(Settings(), Stream(9)).restore(
        features, labels, [0, 1, 2], fitted.tree_, fitted.omegas_, fitted.weights_
    )
    np.testing.assert_array_equal(restored.leave_one_out_log_proba(), fitted.leave_one_out_log_proba())


def test_nodes_that_keep_only_some_of_their_points_leave_none_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their places among the points of the Gaussian process are unknown, and a wrong one is worse than none."""
    real = Full.full_gp

    def on_fewer(self: Full, inputs: torch.Tensor, labels: torch.Tensor, counters: Counter[str]) -> FullGP:
        return real(self, inputs[1:], labels[1:], counters)

    monkeypatch.setattr(Full, "full_gp", on_fewer)
    classifier = PersonalClassifier(Settings(), Stream(0)).fit(*data(12, 2))
    assert not classifier.leaves_one_out
    with pytest.raises(ConfigError, match="use one that keeps all points"):
        classifier.leave_one_out_log_proba()


def test_before_a_fit_there_is_nothing_to_leave_out() -> None:
    with pytest.raises(DataError, match="call fit first"):
        PersonalClassifier().leave_one_out_log_proba()
