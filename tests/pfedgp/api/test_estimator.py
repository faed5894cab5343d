"""The estimator: scikit-learn's own checks, and the bits of a site's classifier."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from pfedgp.api import PersonalClassifier
from pfedgp.run_model import read_model
from pfedgp_core.config import Settings
from pfedgp_core.data.samples import Split
from pfedgp_core.errors import ArtefactError, ConfigError, DataError
from pfedgp_core.metrics.temperature import temperature_scale
from pfedgp_core.model.shared import SharedState
from pfedgp_core.site.samples import SiteSamples
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.tree.classifier import PersonalClassifier as TreeClassifier
from server.run.artefacts import RunFolder
from tests.own_sites import DIGITS, IMAGES

NAMES = np.array(["zero", "one", "two", "three"])
FEW = np.flatnonzero(DIGITS < 3)[:60]
IMAGES_OF_FEW, NAMES_OF_FEW = IMAGES[FEW][:, None], NAMES[DIGITS[FEW]]


# All checks that scikit-learn has for a classifier without sample weights; none is expected to fail.
@parametrize_with_checks([PersonalClassifier()])
def test_the_checks_of_scikit_learn(estimator: PersonalClassifier, check: Any) -> None:
    check(estimator)


@pytest.fixture
def best(tmp_path: Path) -> Path:
    """An untrained model of four classes of images."""
    return model_of(tmp_path, Settings(network="mlp", feature_dim=8))


def model_of(folder: Path, settings: Settings) -> Path:
    about = {
        "settings": settings.to_run_config(),
        "class_names": NAMES.tolist(),
        "input_shape": [1, 8, 8],
        "normalisation": {"mean": [0.3], "std": [0.4]},
        "temperature": 0.5,
    }
    RunFolder(folder, {}).save_model("best", SharedState.initial(settings, (1, 8, 8), 4).to_vector(), about)
    return folder / "best"


def test_features_give_the_bits_of_the_tree_classifier() -> None:
    draw = np.random.default_rng(0)
    features, labels = draw.normal(size=(40, 5)), np.array(["b", "a"])[draw.integers(0, 2, 40)]
    ours = PersonalClassifier(settings={"gp.kernel": "matern52"}, random_state=3).fit(features, labels)
    theirs = TreeClassifier(Settings.from_run_config({"gp.kernel": "matern52", "seed": 3})).fit(features, labels)
    np.testing.assert_array_equal(ours.predict_proba(features), theirs.predict_proba(features))
    np.testing.assert_array_equal(ours.predict(features), theirs.predict(features))
    tempered = clone(ours).set_params(temperature=0.3).fit(features, labels)
    np.testing.assert_allclose(
        tempered.predict_proba(features), temperature_scale(theirs.predict_proba(features), 0.3), rtol=1e-12
    )


def test_a_model_gives_the_bits_of_a_site(best: Path) -> None:
    model, _ = read_model(best)
    ids = DIGITS[FEW].astype(np.int64)
    site = SavedSite.fit("ward", model, SiteSamples.compute(Split(IMAGES_OF_FEW, ids), model))
    ours = PersonalClassifier(best).fit(IMAGES_OF_FEW, NAMES_OF_FEW)
    assert ours.classes_.tolist() == ["one", "two", "zero"]
    expected = site.predict(IMAGES_OF_FEW)
    np.testing.assert_array_equal(ours.predict_proba(IMAGES_OF_FEW), expected.probabilities[:, [1, 2, 0]])
    np.testing.assert_array_equal(ours.predict(IMAGES_OF_FEW), NAMES[expected.predicted])
    np.testing.assert_array_equal(ours.uncertainty(IMAGES_OF_FEW).epistemic, expected.epistemic)


def test_images_as_rows_of_pixels_are_the_same_images(best: Path) -> None:
    rows = IMAGES_OF_FEW.reshape(len(FEW), 64).astype(np.float64)
    ours = PersonalClassifier(best).fit(rows, NAMES_OF_FEW)
    whole = PersonalClassifier(best).fit(IMAGES_OF_FEW, NAMES_OF_FEW)
    np.testing.assert_array_equal(ours.predict_proba(rows), whole.predict_proba(IMAGES_OF_FEW))


def test_columns_of_a_data_frame_go_by_name(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    settings, names = Settings(network="mlp", feature_dim=8), ["age", "crp", "bmi"]
    about = {
        "settings": settings.to_run_config(),
        "class_names": ["ill", "well"],
        "input_shape": [3],
        "normalisation": {"mean": [0.0] * 3, "std": [1.0] * 3},
        "columns": names,
    }
    RunFolder(tmp_path, {}).save_model("best", SharedState.initial(settings, (3,), 2).to_vector(), about)
    rows = np.random.default_rng(0).normal(size=(20, 3))
    labels = np.array(["ill", "well"])[(rows[:, 0] > 0).astype(int)]
    array = PersonalClassifier(tmp_path / "best").fit(rows, labels)
    frame = pandas.DataFrame(rows, columns=names)[["bmi", "age", "crp"]]
    named = PersonalClassifier(tmp_path / "best").fit(frame, labels)
    np.testing.assert_array_equal(named.predict_proba(frame), array.predict_proba(rows))
    with pytest.raises(DataError, match="other columns than the model"):
        PersonalClassifier(tmp_path / "best").fit(frame.rename(columns={"crp": "weight"}), labels)


def test_positions_of_classes_are_labels_too(best: Path) -> None:
    by_name = PersonalClassifier(best).fit(IMAGES_OF_FEW, NAMES_OF_FEW)
    by_position = PersonalClassifier(best).fit(IMAGES_OF_FEW, DIGITS[FEW])
    assert by_position.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(NAMES[by_position.predict(IMAGES_OF_FEW)], by_name.predict(IMAGES_OF_FEW))


def test_the_random_state_is_the_seed_of_the_chains(best: Path) -> None:
    def probabilities(seed: int | None) -> np.ndarray:
        fitted = PersonalClassifier(best, random_state=seed).fit(IMAGES_OF_FEW, NAMES_OF_FEW)
        found: np.ndarray = fitted.predict_proba(IMAGES_OF_FEW)
        return found

    np.testing.assert_array_equal(probabilities(None), probabilities(Settings.seed))
    assert (probabilities(1) != probabilities(2)).any()


def test_it_works_in_a_pipeline_with_cross_validation() -> None:
    data = load_breast_cancer()
    rows = np.random.default_rng(0).permutation(len(data.target))[:200]
    pipeline = make_pipeline(StandardScaler(), PersonalClassifier(random_state=0))
    assert cross_val_score(pipeline, data.data[rows], data.target[rows], cv=3).mean() > 0.9


@pytest.mark.parametrize(
    ("options", "inputs", "labels", "error", "said"),
    [
        ({"settings": {"gp.kernel": "rbf"}}, IMAGES_OF_FEW, NAMES_OF_FEW, ConfigError, "leave out settings"),
        ({}, IMAGES_OF_FEW / 300, NAMES_OF_FEW, DataError, "whole numbers from 0 to 255"),
        ({}, IMAGES_OF_FEW[..., :4], NAMES_OF_FEW, DataError, r"the model takes \(1, 8, 8\)"),
        ({}, IMAGES_OF_FEW, np.char.add(NAMES_OF_FEW, "s"), DataError, "none of the federation's 4 classes"),
        ({}, IMAGES_OF_FEW[:2], np.array(["three", "Three"]), DataError, "one class of the model"),
    ],
)
def test_mistakes_with_a_model(
    options: dict[str, Any], inputs: np.ndarray, labels: np.ndarray, error: type[Exception], said: str, best: Path
) -> None:
    with pytest.raises(error, match=said):
        PersonalClassifier(best, **options).fit(inputs, labels)


def test_other_mistakes(tmp_path: Path) -> None:
    everything = model_of(tmp_path, replace(Settings(network="mlp", feature_dim=8), variant="ip-data", classes="all"))
    with pytest.raises(ConfigError, match="classes = 'all'"):
        PersonalClassifier(everything).fit(IMAGES_OF_FEW, NAMES_OF_FEW)
    with pytest.raises(ArtefactError):
        PersonalClassifier(tmp_path / "none").fit(IMAGES_OF_FEW, NAMES_OF_FEW)
    with pytest.raises(ConfigError, match=r"did you mean 'gp\.kernel'"):
        PersonalClassifier(settings={"gp.kernl": "rbf"}).fit(np.eye(4), [0, 1, 0, 1])
