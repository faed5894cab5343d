"""A saved site comes back as it was, and a spoilt one never predicts."""

import errno
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.data.samples import Split
from pfedgp_core.errors import ArtefactError, ConfigError, DataError
from pfedgp_core.files import folder as whole_folder
from pfedgp_core.files.folder import recover_folder, write_folder
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.metrics.temperature import TEMPERATURE_GRID, temperature_scale
from pfedgp_core.model.shared import SharedState
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.site.samples import SiteSamples, sample_digests
from pfedgp_core.site.saved import SavedSite, is_site
from pfedgp_core.site.site_files import DESCRIPTION, TENSORS
from pfedgp_core.site.trained_model import TrainedModel
from pfedgp_core.tree.classifier import PersonalClassifier
from pfedgp_core.tree.uncertainty import Prediction

CLASSES = ("ant", "bee", "cat", "dog")
VARIANTS: list[dict[str, Any]] = [
    {"variant": "full"},
    {"variant": "full", "gp": GPSettings(learn_scales=True, kernel="matern32", solver="dense")},
    {"variant": "ip-data", "inducing_per_class": 6},
    {"variant": "ip-data", "inducing_per_class": 6, "classes": "all", "personal_data": False},
    {"variant": "ip-compute", "inducing_per_class": 6},
    {"variant": "ip-compute", "inducing_per_class": 60, "classes": "all"},
]


def model_of(**options: Any) -> TrainedModel:
    settings = Settings(network="mlp", feature_dim=8, **options)
    vector = SharedState.initial(settings, (5,), len(CLASSES)).to_vector()
    return TrainedModel(vector, settings, CLASSES, (5,), np.zeros(5, np.float32), np.ones(5, np.float32))


def data(n: int = 60, classes: tuple[int, ...] = (0, 1, 3), seed: int = 0) -> Split:
    labels = np.array(classes, dtype=np.int64)[np.arange(n) % len(classes)]
    noise = np.random.default_rng(seed).normal(size=(n, 5))
    return Split((np.eye(5)[labels] * 3 + noise).astype(np.float32), labels)


def site_of(n: int = 60, held: tuple[int, ...] = (0, 1, 3), **options: Any) -> SavedSite:
    model = model_of(**options)
    return SavedSite.fit("ward", model, SiteSamples.compute(data(n, held), model), ("a", "b", "c", "d", "e"))


@pytest.mark.parametrize("options", VARIANTS, ids=lambda o: "-".join(map(str, o.values()))[:30])
@pytest.mark.parametrize("n", [60, 150])
def test_predictions_come_back(options: dict[str, Any], n: int, tmp_path: Path) -> None:
    site, new = site_of(n, **options), data(30, seed=1).inputs
    before = site.predict(new)
    site.save(tmp_path / "ward")
    loaded = SavedSite.load(tmp_path / "ward")
    after = loaded.predict(new)
    for part in ("probabilities", "entropy", "aleatoric", "epistemic"):
        np.testing.assert_allclose(getattr(after, part), getattr(before, part), atol=1e-6)
    assert (loaded.name, loaded.class_names, loaded.columns) == ("ward", site.class_names, tuple("abcde"))
    assert loaded.classifier.tree_ == site.classifier.tree_
    # The cache against the GPs' own methods, and the classifier on features.
    features = loaded.model.features(new)
    restored = SavedSite.load(tmp_path / "ward").classifier
    np.testing.assert_allclose(restored.predict_proba(features), before.probabilities, atol=1e-6)
    for (known, omega), cache in zip(restored.nodes_, restored._caches, strict=True):
        for found, exact in zip(
            cache.moments(unit_sphere(features)), known.gp.predict(unit_sphere(features), omega), strict=True
        ):
            torch.testing.assert_close(found, exact.detach(), rtol=1e-5, atol=1e-4)


def test_it_is_the_classifier_of_the_federation() -> None:
    site = site_of()
    split, model = data(), site.model
    order = np.array(sorted(range(60), key=lambda i: sample_digests(split, CLASSES)[i].tobytes()))
    classifier = PersonalClassifier(model.settings, Stream(model.settings.seed, "site"))
    classifier.fit(model.features_one_by_one(split.inputs)[order], split.labels[order])
    new = data(20, seed=2).inputs
    np.testing.assert_array_equal(site.predict_proba(new), classifier.predict_proba(model.features(new)))


def test_order_of_arrival_changes_no_bit(tmp_path: Path) -> None:
    model, whole = model_of(), data(61)
    order = np.random.default_rng(1).permutation(61)
    parts = [Split(whole.inputs[rows], whole.labels[rows]) for rows in (order[:20], order[20:])]
    at_once = SiteSamples.compute(whole, model)
    in_turn = SiteSamples.compute(parts[0], model).union(SiteSamples.compute(parts[1], model))
    assert at_once.sha256 == in_turn.sha256
    assert at_once.repeated() == 0
    for name, samples in (("a", at_once), ("b", in_turn)):
        SavedSite.fit("ward", model, samples).save(tmp_path / name)
    for file in (TENSORS, DESCRIPTION):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    assert at_once.union(at_once).repeated() == 61


@pytest.mark.parametrize("options", VARIANTS, ids=lambda o: "-".join(map(str, o.values()))[:30])
def test_a_temperature_changes_probabilities_and_no_answer(options: dict[str, Any], tmp_path: Path) -> None:
    site, new = site_of(**options), data(200, seed=1).inputs
    posterior = site.predict(new, 1.0)
    np.testing.assert_array_equal(site.predict(new).probabilities, posterior.probabilities)
    np.testing.assert_array_equal(
        posterior.predicted,
        np.searchsorted(site.classifier.classes_, site.classifier.predict(site.model.features(new))),
    )
    replace(site, model=replace(site.model, temperature=0.2)).save(tmp_path / "ward")
    loaded = SavedSite.load(tmp_path / "ward")
    np.testing.assert_allclose(loaded.predict_proba(new), temperature_scale(posterior.probabilities, 0.2), atol=1e-6)
    for temperature in TEMPERATURE_GRID:
        at = site.predict(new, temperature)
        np.testing.assert_array_equal(at.predicted, posterior.predicted)
        shown = at.probabilities[np.arange(200), at.predicted]
        assert (shown >= at.probabilities.max(axis=1)).all()
        for part in ("entropy", "aleatoric", "epistemic"):
            np.testing.assert_array_equal(getattr(at, part), getattr(posterior, part))


def test_a_temperature_makes_no_answer_of_a_tie() -> None:
    nearly = np.array([[0.5 - 1e-16, 0.5 + 1e-16]])
    none = np.zeros(1)
    at = Prediction(nearly, none, none, none, nearly.argmax(axis=1)).at(1000.0)
    assert at.probabilities.argmax(axis=1).tolist() == [0]  # the two are the same number there
    assert at.predicted.tolist() == [1]


def test_sites_of_former_versions_have_temperature_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    describe = SavedSite._describe

    def former(self: SavedSite) -> dict[str, Any]:
        return {key: value for key, value in describe(self).items() if key != "temperature"}

    monkeypatch.setattr(SavedSite, "_describe", former)
    site_of().save(tmp_path / "ward")
    assert SavedSite.load(tmp_path / "ward").model.temperature == 1


def test_a_single_class_works(tmp_path: Path) -> None:
    site_of(held=(2,)).save(tmp_path / "ward")
    site = SavedSite.load(tmp_path / "ward")
    assert site.class_names == ("cat",)
    assert (site.predict_proba(data(3).inputs) == 1).all()
    with pytest.raises(DataError, match="takes"):
        site.predict(np.zeros((2, 4), np.float32))


def test_a_site_needs_samples() -> None:
    with pytest.raises(DataError, match="at least one sample"):
        SiteSamples.compute(data(0), model_of())


def changed(path: Path, **changes: Any) -> None:
    """Edit the description as a person would, and as a later version would write it."""
    about = json.loads((path / DESCRIPTION).read_text())
    (path / DESCRIPTION).write_text(json.dumps(about | changes))


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (lambda p: (p / TENSORS).unlink(), "site.safetensors is missing"),
        (lambda p: (p / DESCRIPTION).unlink(), "site.json is missing"),
        (lambda p: (p / DESCRIPTION).write_bytes(b"\xff{"), "site.json: it is not UTF-8 text"),
        (lambda p: (p / DESCRIPTION).write_text("{"), "site.json: it is no JSON"),
        (lambda p: (p / DESCRIPTION).write_text("[]"), "site.json: it is no object"),
        (lambda p: (p / DESCRIPTION).write_text('{"format": "else"}'), "not written by pfedgp onboard"),
        (lambda p: changed(p, schema_version=2), "schema version 2, and this version of pFedGP reads up to 1"),
        (lambda p: changed(p, schema_version="1"), "changed after it was written"),
        (lambda p: changed(p, class_names=["x", "y", "z", "w"]), "changed after it was written"),
        (lambda p: changed(p, model_sha256="0" * 64), "changed after it was written"),
        (lambda p: (p / TENSORS).write_bytes((p / TENSORS).read_bytes()[:-1]), "is not the file"),
        (lambda p: (p / TENSORS).write_bytes(b""), "is not the file"),
    ],
)
def test_spoilt_sites_are_refused(spoil: Any, expected: str, tmp_path: Path) -> None:
    site_of().save(tmp_path / "ward")
    spoil(tmp_path / "ward")
    with pytest.raises(ArtefactError, match=expected):
        SavedSite.load(tmp_path / "ward")


def test_parts_that_do_not_belong_together_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site, describe = site_of(), SavedSite._describe
    for changes, expected in (
        ({"model_sha256": "f" * 64}, "the model has the hash .* noted is ffffffffffff"),
        ({"data_sha256": "f" * 64}, "the data has the hash"),
        ({"tree": []}, "do not belong together"),
        ({"classes": [0, 1]}, "its tree does not fit its classes"),
        ({"input_shape": [6]}, "must use the same network"),
        ({"kernel": {}}, "damaged"),
        ({"temperature": 0}, "temperature is 0, and no run chooses"),
    ):
        monkeypatch.setattr(SavedSite, "_describe", lambda self, changes=changes: describe(self) | changes)
        site.save(tmp_path / "ward", replace=True)
        with pytest.raises(ArtefactError, match=expected):
            SavedSite.load(tmp_path / "ward")


def test_no_site(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match=r"There is no site at .* pfedgp onboard"):
        SavedSite.load(tmp_path / "none")
    assert not is_site(tmp_path)


def test_regression_has_no_classes() -> None:
    class Regression:
        task = "regression"

    with pytest.raises(ConfigError, match="regression"):
        TrainedModel(np.zeros(1), Regression(), (), (5,), np.zeros(5), np.ones(5))  # type: ignore[arg-type]


@pytest.mark.parametrize("function", ["fsync", "rename"])
def test_a_full_disk_leaves_the_former_folder(function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site_of().save(tmp_path / "ward")
    (tmp_path / "ward" / "mine.csv").write_text("kept")
    before = {p.name: p.read_bytes() for p in (tmp_path / "ward").iterdir()}
    real, calls = getattr(os, function), []

    def full(*args: Any) -> Any:
        calls.append(args)
        if len(calls) == 2:  # the second file, or the second of the two renames
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*args)

    monkeypatch.setattr(whole_folder.os, function, full)
    with pytest.raises(ArtefactError, match="No space left on device"):
        site_of(40).save(tmp_path / "ward", replace=True)
    monkeypatch.undo()
    assert {p.name: p.read_bytes() for p in (tmp_path / "ward").iterdir()} == before
    assert [p.name for p in tmp_path.iterdir()] == ["ward"]
    site_of(40).save(tmp_path / "ward", replace=True)
    assert len(SavedSite.load(tmp_path / "ward").samples) == 40
    assert (tmp_path / "ward" / "mine.csv").read_text() == "kept"


def test_folders_are_not_taken_over(tmp_path: Path) -> None:
    write_folder(tmp_path / "a", {"x": b"1"})
    with pytest.raises(ArtefactError, match="is not empty"):
        write_folder(tmp_path / "a", {"y": b"2"})
    with pytest.raises(ArtefactError, match="is a file"):
        write_folder(tmp_path / "a" / "x", {"y": b"2"}, replace=True)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    write_folder(tmp_path / "link", {"x": b"2"}, replace=True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a" / "x").read_bytes() == b"2"
    # A power failure between the two renames of a replacement.
    os.rename(tmp_path / "a", tmp_path / ".a.former")
    recover_folder(tmp_path / "a")
    assert (tmp_path / "a" / "x").read_bytes() == b"2"
    assert not (tmp_path / ".a.former").exists()
