"""The personal classifier: learns, stays finite on degenerate data, does not care about order, names or scale."""

import numpy as np
import pytest
import torch

from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.errors import DataError, NonFiniteError
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.classifier import PersonalClassifier

MANY_CHAINS = Settings(gp=GPSettings(predict_chains=600))
NOISE = 0.05  # six standard errors of a mean over 600 chains, whose spread is at most 0.15 or so


def blobs(k=3, each=12, d=6, seed=0, spread=0.4):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(k, d))
    labels = np.arange(k * each) % k
    return centres[labels] + spread * rng.normal(size=(k * each, d)), labels


def fitted(features, labels, settings=MANY_CHAINS, seed=0):
    return PersonalClassifier(settings, Stream(seed, "test")).fit(features, labels)


def test_learns_and_returns_probabilities():
    features, labels = blobs(k=4, each=40)
    classifier = fitted(features[:80], labels[:80], Settings())
    probabilities = classifier.predict_proba(features[80:])
    assert probabilities.shape == (80, 4)
    assert probabilities.dtype == np.float64
    np.testing.assert_allclose(probabilities.sum(1), 1)
    assert (classifier.predict(features[80:]) == labels[80:]).mean() > 0.95


def test_labels_of_any_kind_come_back():
    features, labels = blobs()
    names = np.array(["cat", "dog", "eel"])[labels]
    classifier = fitted(features, names, Settings())
    assert classifier.classes_.tolist() == ["cat", "dog", "eel"]
    assert (classifier.predict(features) == names).mean() > 0.9


@pytest.mark.slow
def test_order_of_the_samples_changes_nothing_beyond_noise():
    features, labels = blobs()
    order = np.random.default_rng(5).permutation(len(labels))
    a = fitted(features, labels).predict_proba(features)
    b = fitted(features[order], labels[order], seed=1).predict_proba(features)
    assert np.abs(a - b).max() < NOISE


@pytest.mark.slow
def test_names_of_the_classes_change_nothing_beyond_noise():
    features, labels = blobs()
    renamed = np.array([2, 0, 1])[labels]
    a = fitted(features, labels).predict_proba(features)
    b = fitted(features, renamed, seed=1).predict_proba(features)
    assert np.abs(a - b[:, [2, 0, 1]]).max() < NOISE


def test_swapping_two_classes_mirrors_the_probabilities():
    features, labels = blobs(k=2)
    a = fitted(features, labels).predict_proba(features)
    b = fitted(features, 1 - labels, seed=1).predict_proba(features)
    assert np.abs(a - b[:, ::-1]).max() < NOISE


def test_same_stream_same_probabilities():
    features, labels = blobs()
    a, b = (fitted(features, labels, Settings()).predict_proba(features) for _ in range(2))
    assert (a == b).all()
    assert (a != fitted(features, labels, Settings(), seed=3).predict_proba(features)).any()


def duplicated():
    features, labels = blobs()
    return np.repeat(features, 4, axis=0), np.repeat(labels, 4)


def identical_prototypes():
    features = np.random.default_rng(0).normal(size=(12, 4))
    return np.concatenate([features, features]), np.repeat([0, 1], 12)


def zero_row():
    features, labels = blobs()
    features[3] = 0
    return features, labels


DEGENERATE = {
    "duplicated points": duplicated,
    "one sample a class": lambda: (np.eye(5), np.arange(5)),
    "a class with one sample": lambda: (blobs()[0][:25], np.array([0, 1] * 12 + [2])),
    "one class": lambda: (np.random.default_rng(0).normal(size=(9, 3)), np.full(9, 7)),
    "one sample": lambda: (np.ones((1, 3)), np.array([4])),
    "identical prototypes": identical_prototypes,
    "a zero row": zero_row,
    "all rows zero": lambda: (np.zeros((8, 3)), np.arange(8) % 2),
    "tiny inputs": lambda: (blobs()[0] * 1e-3, blobs()[1]),
    "large inputs": lambda: (blobs()[0] * 1e3, blobs()[1]),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_data_give_finite_probabilities(name, dtype):
    features, labels = DEGENERATE[name]()
    probabilities = fitted(features.astype(dtype), labels, Settings()).predict_proba(features.astype(dtype))
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(1), 1)


def test_one_class_is_certain():
    assert (fitted(np.ones((3, 2)), [5, 5, 5]).predict_proba(np.zeros((2, 2))) == 1).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_non_finite_features_are_refused_before_any_sampler_runs(value, monkeypatch):
    def never(*_):
        raise AssertionError("the sampler was called")

    monkeypatch.setattr("pfedgp_core.numerics.streams.sample_pg", never)
    features, labels = blobs()
    features[0, 0] = value
    with pytest.raises(NonFiniteError, match="NaN or infinity"):
        PersonalClassifier().fit(features, labels)


def test_bad_calls_say_what_to_do():
    features, labels = blobs()
    with pytest.raises(DataError, match="call fit first"):
        PersonalClassifier().predict_proba(features)
    with pytest.raises(DataError, match="one label a row"):
        PersonalClassifier().fit(features, labels[:-1])
    with pytest.raises(DataError, match="at least one sample"):
        PersonalClassifier().fit(np.zeros((0, 3)), [])
    with pytest.raises(DataError, match="samples x features"):
        PersonalClassifier().fit(features.ravel(), labels)


def test_tensors_are_taken_as_they_are():
    features, labels = blobs()
    as_array = fitted(features, labels, Settings()).predict_proba(features)
    as_tensor = fitted(torch.from_numpy(features), torch.from_numpy(labels), Settings()).predict_proba(
        torch.from_numpy(features)
    )
    assert (as_array == as_tensor).all()


@pytest.mark.parametrize(
    "change", [lambda x: x.astype(np.float16), lambda x: x * np.float32(1e20)], ids=["half", "far"]
)
def test_features_of_half_precision_and_of_any_length_are_used(change):
    features, labels = blobs(k=4, each=40)
    changed = change(features.astype(np.float32))
    classifier = fitted(changed[:80], labels[:80], Settings())
    assert (classifier.predict(changed[80:]) == labels[80:]).mean() > 0.95
