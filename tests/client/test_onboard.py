"""Onboarding: a site from data, more data, a new model; whatever fails leaves the site as it was."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from client.onboard import Onboarding
from pfedgp_core.config import Settings
from pfedgp_core.errors import ArtefactError, ConfigError, DataError
from pfedgp_core.model.shared import SharedState
from pfedgp_core.site import saved as saved_site
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.site.site_files import TENSORS
from pfedgp_core.site.trained_model import TrainedModel

CLASSES = ("ant", "bee", "cat")


def model_of(seed: int = 0, **options: Any) -> TrainedModel:
    settings = Settings(seed=seed, feature_dim=8, inducing_per_class=5, **options)
    vector = SharedState.initial(settings, (1, 8, 8), len(CLASSES)).to_vector()
    return TrainedModel(vector, settings, CLASSES, (1, 8, 8), np.full(1, 0.5, np.float32), np.ones(1, np.float32))


def archive(path: Path, n: int, seed: int, classes: int = 3) -> Path:
    draw = np.random.default_rng(seed)
    labels = np.arange(n) % classes
    images = np.zeros((n, 8, 8), np.uint8)
    images[np.arange(n), labels * 2] = 200
    images += draw.integers(0, 50, images.shape, dtype=np.uint8)
    np.savez(path, images=images, labels=np.array(CLASSES)[labels])
    return path


@pytest.mark.parametrize("variant", ["full", "ip-data", "ip-compute"])
def test_data_in_two_parts_equal_data_at_once(variant: str, tmp_path: Path) -> None:
    model = model_of(variant=variant)
    a, b = archive(tmp_path / "a.npz", 31, 0), archive(tmp_path / "b.npz", 20, 1)
    outcome = Onboarding(tmp_path / "at-once").create(model, [a, b])
    assert outcome.written
    assert outcome.site.name == "at-once"
    assert not outcome.notes
    Onboarding(tmp_path / "in-turn").create(model, [b])
    outcome = Onboarding(tmp_path / "in-turn").add([a], model)
    assert outcome.changes == ("Added 31 samples to 20.",)
    assert (tmp_path / "at-once" / TENSORS).read_bytes() == (tmp_path / "in-turn" / TENSORS).read_bytes()
    held_out = np.load(archive(tmp_path / "c.npz", 30, 2))
    site = SavedSite.load(tmp_path / "in-turn")
    probabilities = site.predict_proba(held_out["images"][:, None])
    answers = np.array(site.class_names)[probabilities.argmax(1)]
    # The inducing inputs of this model were never trained.
    assert (answers == held_out["labels"]).mean() > (0.6 if variant == "ip-compute" else 0.9)


def test_refresh_says_what_changed(tmp_path: Path) -> None:
    a, b = archive(tmp_path / "a.npz", 30, 0), archive(tmp_path / "b.npz", 20, 1)
    site = Onboarding(tmp_path / "site", name="ward 3")
    site.create(model_of(), [a])
    before = (tmp_path / "site" / TENSORS).stat().st_mtime_ns
    for model in (None, model_of()):
        outcome = Onboarding(tmp_path / "site").refresh([a], model)
        assert not outcome.written
        assert outcome.changes == ("Neither the model nor the data changed.",)
    assert (tmp_path / "site" / TENSORS).stat().st_mtime_ns == before
    assert "The model changed" in " ".join(Onboarding(tmp_path / "site").refresh([a], model_of(1)).changes)
    (change,) = Onboarding(tmp_path / "site").refresh([b]).changes
    assert change == "The data changed (30 samples to 20)."
    assert len(Onboarding(tmp_path / "site").refresh([a, b], model_of()).changes) == 2
    assert SavedSite.load(tmp_path / "site").name == "ward 3"
    (change,) = Onboarding(tmp_path / "site", name="ward 4").refresh([b, a]).changes
    assert "The name changed" in change
    assert SavedSite.load(tmp_path / "site").name == "ward 4"


def test_a_temperature_alone_is_a_change(tmp_path: Path) -> None:
    a, b = archive(tmp_path / "a.npz", 30, 0), archive(tmp_path / "b.npz", 20, 1)
    site, chosen = Onboarding(tmp_path / "site"), replace(model_of(), temperature=0.2)
    site.create(model_of(), [a])
    before = (tmp_path / "site" / TENSORS).read_bytes()
    with pytest.raises(ConfigError, match=r"has temperature 1, and the model 0\.2: leave out --model to add data"):
        site.add([b], chosen)
    assert site.refresh([a], chosen).changes == ("The temperature changed (1 to 0.2).",)
    assert SavedSite.load(tmp_path / "site").model.temperature == 0.2
    assert (tmp_path / "site" / TENSORS).read_bytes() == before
    assert site.add([b]).site.model.temperature == 0.2
    wider = replace(chosen, temperature_spread=0.3)
    assert site.refresh([a, b], wider).changes == ("The spread of temperatures changed (1 to 0.3).",)
    assert SavedSite.load(tmp_path / "site").model.temperature_spread == 0.3
    chosen = wider
    assert not site.refresh([a, b], chosen).written


def test_what_a_person_should_know(tmp_path: Path) -> None:
    one = archive(tmp_path / "one.npz", 12, 0, classes=1)
    (note,) = Onboarding(tmp_path / "one").create(model_of(), [one]).notes
    assert "the class 'ant' only" in note
    notes = Onboarding(tmp_path / "one").add([one, archive(tmp_path / "two.npz", 2, 1, classes=2)]).notes
    assert any("Classes with a single sample: bee" in note for note in notes)
    assert any("12 samples of 26 repeat" in note for note in notes)


def test_refusals_leave_the_site_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a = archive(tmp_path / "a.npz", 30, 0)
    site = Onboarding(tmp_path / "site")
    site.create(model_of(), [a])
    before = (tmp_path / "site" / TENSORS).read_bytes()
    np.savez(tmp_path / "large.npz", images=np.zeros((2, 9, 9), np.uint8), y=["ant", "bee"])
    np.savez(tmp_path / "strange.npz", images=np.zeros((1, 8, 8), np.uint8), y=["eel"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ArtefactError, match="is a site already"):
        site.create(model_of(), [a])
    with pytest.raises(ArtefactError, match="in use by something else"):
        Onboarding(tmp_path).create(model_of(), [a])
    with pytest.raises(ConfigError, match="stands on the model"):
        site.add([a], model_of(1))
    for path, expected in (("large.npz", "2 of 9 x 9"), ("strange.npz", "'eel' is none"), ("empty", "no image")):
        for act in (site.add, site.refresh):
            with pytest.raises(DataError, match=expected):
                act([tmp_path / path])
    with pytest.raises(ArtefactError, match="There is no site"):
        Onboarding(tmp_path / "none").add([a])

    def full(*args: Any) -> None:
        raise ArtefactError("Cannot write (No space left on device).")

    monkeypatch.setattr(saved_site, "write_folder", full)
    with pytest.raises(ArtefactError, match="No space"):
        site.add([a])
    assert (tmp_path / "site" / TENSORS).read_bytes() == before


def test_images_are_resized_on_demand(tmp_path: Path) -> None:
    np.savez(tmp_path / "large.npz", images=np.zeros((2, 16, 16, 3), np.uint8), y=["ant", "bee"])
    outcome = Onboarding(tmp_path / "site", resize=True).create(model_of(), [tmp_path / "large.npz"])
    assert len(outcome.site.samples) == 2


def test_only_training_data_of_splits_are_used(tmp_path: Path) -> None:
    for i, split in enumerate(("train", "validation", "test")):
        archive(tmp_path / f"{split}.npz", 10 + i, i)
    outcome = Onboarding(tmp_path / "sites" / "a").create(model_of(), [tmp_path])
    assert len(outcome.site.samples) == 10


def test_columns_must_agree(tmp_path: Path) -> None:
    settings = Settings(network="mlp", feature_dim=4)
    vector = SharedState.initial(settings, (2,), 2).to_vector()
    model = TrainedModel(vector, settings, ("x", "y"), (2,), np.zeros(2, np.float32), np.ones(2, np.float32))
    (tmp_path / "a.csv").write_text("age,dose,label\n1,2,x\n3,4,y\n")
    (tmp_path / "b.csv").write_text("dose,age,label\n1,2,x\n3,4,y\n")
    site = Onboarding(tmp_path / "site")
    assert site.create(model, [tmp_path / "a.csv"]).site.columns == ("age", "dose")
    (tmp_path / "c.csv").write_text("age,Dose,label\n1,2,x\n3,4,y\n")
    with pytest.raises(DataError, match="lacks the column 'dose' and has the column 'Dose'"):
        site.add([tmp_path / "c.csv"])
    (tmp_path / "same.csv").write_text("age,dose,label\n2,1,x\n4,3,y\n")
    together = Onboarding(tmp_path / "together").create(model, [tmp_path / "a.csv", tmp_path / "same.csv"])
    assert site.add([tmp_path / "b.csv"]).site.samples.sha256 == together.site.samples.sha256
