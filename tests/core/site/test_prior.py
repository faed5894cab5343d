"""Probabilities corrected for another mix of classes are those of Bayes' rule under that mix."""

import numpy as np
import pytest

from pfedgp_core.errors import ConfigError
from pfedgp_core.site.prior import prior_weights
from pfedgp_core.site.streamed import predictions
from pfedgp_core.tree.uncertainty import Prediction
from tests.table_site import COLUMNS, rows, table_site

CLASSES = ("ill", "well")


def posterior(x: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """P(class | x) where x is N(-1, 1) or N(1, 1) with these shares."""
    joint = shares * np.exp(-0.5 * (x[:, None] - np.array([-1.0, 1.0])) ** 2)
    return joint / joint.sum(axis=1, keepdims=True)


def as_prediction(probabilities: np.ndarray) -> Prediction:
    nothing = np.zeros(len(probabilities))
    return Prediction(probabilities, nothing, nothing, nothing, probabilities.argmax(axis=1))


@pytest.mark.parametrize(
    ("text", "wanted"), [("balanced", [0.5, 0.5]), ("ill=0.9,well=0.1", [0.9, 0.1]), ("well=3,ill=1", [0.25, 0.75])]
)
def test_the_corrected_probabilities_are_the_exact_ones(text: str, wanted: list[float]) -> None:
    x, counts = np.linspace(-3, 3, 101), [2, 100]
    own = as_prediction(posterior(x, np.array(counts) / 102))
    found = own.reweighted(prior_weights(text, CLASSES, counts))
    expected = posterior(x, np.array(wanted))
    np.testing.assert_allclose(found.probabilities, expected, rtol=1e-12)
    np.testing.assert_array_equal(found.predicted, expected.argmax(axis=1))


def test_the_sites_own_mix_changes_nothing() -> None:
    own = as_prediction(posterior(np.linspace(-3, 3, 11), np.array([0.2, 0.8])))
    found = own.reweighted(prior_weights("ill=2,well=8", CLASSES, [20, 80]))
    np.testing.assert_allclose(found.probabilities, own.probabilities, rtol=1e-15)


def test_a_row_without_any_wanted_class_stays_as_it_is() -> None:
    found = as_prediction(np.array([[1.0, 0.0]])).reweighted(np.array([0.0, 1.0]))
    assert found.probabilities.tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("even", "does not go on with a class of the site at 'even'"),
        ("ill=0.5,wel=0.5", "at 'wel=0.5'"),
        ("ill=0.5,ill=0.5", "at 'ill=0.5'"),
        ("ill=0.5", "has no share of well"),
        ("ill=0,well=1", "'0' is no share of 'ill'"),
        ("ill=x,well=1", "'x' is no share of 'ill'"),
        ("ill=inf,well=1", "'inf' is no share"),
        ("", "has no share of ill, well"),
    ],
)
def test_what_is_no_mix_is_refused(text: str, cause: str) -> None:
    with pytest.raises(ConfigError, match=cause):
        prior_weights(text, CLASSES, [2, 100])


def test_names_may_hold_commas_and_equals_signs() -> None:
    weights = prior_weights("a,b=0.5,a=0.25,=c=0.25", ("a", "a,b", "=c"), [1, 1, 1])
    np.testing.assert_allclose(weights, [0.5, 1, 0.5])


def test_a_sites_predictions_are_corrected_after_the_temperature() -> None:
    from pfedgp_core.data.own.samples import Samples

    site, inputs = table_site(), rows(9)
    weights = prior_weights("balanced", site.class_names, list(site.samples.counts(site.model.class_names).values()))
    samples = Samples(inputs, tuple(map(str, range(9))), None, COLUMNS)
    (part,) = predictions(site, [samples], 0.3, weights)
    plain = site.predict(inputs, 0.3)
    np.testing.assert_allclose(part.prediction.probabilities, plain.reweighted(weights).probabilities)
    np.testing.assert_array_equal(part.prediction.entropy, plain.entropy)
