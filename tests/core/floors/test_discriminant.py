"""Linear discriminants against scikit-learn, and under a covariance that is none."""

import numpy as np
import torch
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from pfedgp_core.floors.discriminant import Discriminant, within_covariance

GENERATOR = torch.Generator().manual_seed(3)
LABELS = torch.tensor([0] * 20 + [4] * 30)
FEATURES = torch.randn(50, 3, generator=GENERATOR, dtype=torch.float64) + LABELS[:, None] / 3
TESTS = torch.randn(9, 3, generator=GENERATOR, dtype=torch.float64)


def test_with_its_own_covariance_it_is_scikit_learn_s():
    made = Discriminant(FEATURES, LABELS, within_covariance(FEATURES, LABELS), 0.0)
    # scikit-learn divides by the samples, not by their degrees of freedom.
    oracle = LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=_Pooled())
    expected = oracle.fit(FEATURES.numpy(), LABELS.numpy()).predict_log_proba(TESTS.numpy())
    np.testing.assert_allclose(made.log_probabilities(TESTS), expected, atol=1e-10)


class _Pooled:
    """scikit-learn asks once a class, and weighs by the classes' shares: both get the same covariance."""

    def fit(self, _):
        self.covariance_ = within_covariance(FEATURES, LABELS).numpy()
        return self


def test_shrunk_wholly_only_distances_count():
    made = Discriminant(FEATURES, LABELS, torch.diag(torch.tensor([1.0, 2.0, 6.0])), 1.0).log_probabilities(TESTS)
    means = torch.stack([FEATURES[c == LABELS].mean(0) for c in (0, 4)])
    expected = torch.log_softmax(torch.tensor([0.4, 0.6]).log() - torch.cdist(TESTS, means) ** 2 / 6, 1)
    torch.testing.assert_close(made, expected, rtol=0, atol=1e-6)


def test_a_covariance_with_negative_directions_still_gives_numbers():
    made = Discriminant(FEATURES, LABELS, torch.diag(torch.tensor([1.0, -2.0, 0.0])), 0.0).log_probabilities(TESTS)
    assert made.isfinite().all()


def test_classes_of_one_sample_have_no_covariance():
    assert within_covariance(FEATURES[18:22:3], LABELS[18:22:3]) is None
