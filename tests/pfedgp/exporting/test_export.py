"""``pfedgp export``: the ONNX file answers as the site does, on images and tables, and says what it is."""

import json
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pfedgp.cli import main
from pfedgp_core.backbones import VARIABLE, declare_backbones
from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.data.datasets import load_dataset
from pfedgp_core.data.moments import input_statistics
from pfedgp_core.data.samples import Split
from pfedgp_core.methods.make import make_method
from pfedgp_core.model.frozen import pinned_name
from pfedgp_core.site.samples import SiteSamples
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.site.trained_model import TrainedModel
from pfedgp_core.tree import portable
from tests.backbones import write_backbone

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

QUICK = GPSettings(predict_chains=6, predict_sweeps=5)


def saved(path: Path, inputs: np.ndarray, labels: np.ndarray, temperature: float = 0.5, **changes: Any) -> SavedSite:
    """A site on an untrained model of four classes."""
    settings = Settings(gp=QUICK, feature_dim=16, **changes)
    shape = inputs.shape[1:]
    vector = make_method(settings, shape, 4).initial()
    columns = tuple(f"c{i}" for i in range(shape[0])) if len(shape) == 1 else ()
    moments = input_statistics(inputs)
    about = {"temperature": temperature, "value_range": "0..255" if len(shape) == 3 else "", "columns": columns}
    model = TrainedModel(vector, settings, ("a", "b|c", "d", "e"), shape, *moments, **about)
    samples = SiteSamples.compute(Split(inputs, labels), model)
    site = SavedSite.fit("ward-3", model, samples, columns)
    site.save(path)
    return site


def digits(count: int) -> tuple[np.ndarray, np.ndarray]:
    split = load_dataset("digits").train
    rows = np.flatnonzero(split.labels < 3)[:count]
    return split.inputs[rows], split.labels[rows]


def answers(file: Path, inputs: np.ndarray) -> list[np.ndarray]:
    return onnxruntime.InferenceSession(file).run(None, {"inputs": inputs.astype(np.float32)})


@pytest.mark.slow
def test_images_of_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs, labels = digits(60)
    site = saved(tmp_path / "site", inputs[:40], labels[:40])
    assert main(["export", "--site", str(tmp_path / "site"), "--onnx", str(tmp_path / "w.onnx"), "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    features, _, variance, probabilities = answers(tmp_path / "w.onnx", inputs)
    np.testing.assert_allclose(probabilities, site.predict_proba(inputs), rtol=0, atol=1e-4)
    np.testing.assert_allclose(features, site.features(inputs).numpy(), rtol=1e-4, atol=1e-4)
    assert variance.min() > 0
    assert (about["format"], about["schema_version"], about["class_names"]) == ("pfedgp-export", 1, ["a", "b|c", "d"])
    assert about["check"]["probabilities"] <= about["check"]["tolerance"] == 1e-4
    kept = {each.key: each.value for each in onnx.load(tmp_path / "w.onnx").metadata_props}
    assert json.loads(kept["pfedgp"])["model_sha256"] == site.model.sha256


@pytest.mark.slow
def test_a_node_whose_chains_share_a_factor_answers_for_its_own_samples(tmp_path: Path) -> None:
    inputs, labels = digits(150)
    site = saved(tmp_path / "site", inputs, labels)
    assert main(["export", "--site", str(tmp_path / "site"), "--onnx", str(tmp_path / "w.onnx")]) == 0
    probabilities = answers(tmp_path / "w.onnx", inputs[:20])[3]
    np.testing.assert_allclose(probabilities, site.predict_proba(inputs[:20]), rtol=0, atol=1e-4)


def test_the_files_are_their_owners_and_the_card_names_the_classes(tmp_path: Path) -> None:
    saved(tmp_path / "site", *digits(20))
    assert main(["export", "--site", str(tmp_path / "site"), "--onnx", str(tmp_path / "w.onnx")]) == 0
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("w.onnx", "w.md")] == [0o600, 0o600]
    assert "A classifier of a, b\\|c, d" in (tmp_path / "w.md").read_text()


def test_a_table_with_a_whitened_model(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 4
    inputs = (rng.normal(size=(4, 5))[labels] + rng.normal(size=(60, 5))).astype(np.float32)
    site = saved(tmp_path / "site", inputs, labels, temperature=2.0, method="whitened")
    np.savez(tmp_path / "new.npz", x=inputs[:9] + 1, columns=[f"c{i}" for i in range(5)])
    command = ["export", "--site", str(tmp_path / "site"), "--onnx", str(tmp_path / "w.onnx")]
    assert main([*command, "--data", str(tmp_path / "new.npz")]) == 0
    probabilities = answers(tmp_path / "w.onnx", inputs + 1)[3]
    np.testing.assert_allclose(probabilities, site.predict_proba(inputs + 1), rtol=0, atol=1e-4)


@pytest.mark.slow
def test_a_frozen_backbone_is_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    declare_backbones([f"small={write_backbone(tmp_path / 'small.ts')}"])
    inputs, labels = digits(30)
    site = saved(tmp_path / "site", inputs, labels, network=pinned_name("frozen:small", (1, 8, 8)))
    assert main(["export", "--site", str(tmp_path / "site"), "--onnx", str(tmp_path / "w.onnx")]) == 0
    np.testing.assert_allclose(answers(tmp_path / "w.onnx", inputs)[3], site.predict_proba(inputs), rtol=0, atol=1e-4)


def test_a_file_that_answers_otherwise_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    saved(tmp_path / "site", *digits(20))
    monkeypatch.setattr(portable, "LEAST", 0.0)  # every answer becomes uniform
    assert main(["export", "--site", str(tmp_path / "site"), "--onnx", str(tmp_path / "w.onnx")]) == 1
    assert "differs from the site's own by" in capsys.readouterr().err
    assert not list(tmp_path.glob("w.*"))


def test_names_of_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "w.md").write_text("mine")
    for name, text in (("w.txt", "does not end with .onnx"), ("w.onnx", "w.md is there already")):
        assert main(["export", "--site", str(tmp_path / "site"), "--onnx", str(tmp_path / name)]) == 2
        assert text in capsys.readouterr().err


def test_a_site_of_one_class(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs, labels = digits(60)
    saved(tmp_path / "site", inputs[labels == 1], labels[labels == 1])
    assert main(["export", "--site", str(tmp_path / "site"), "--onnx", str(tmp_path / "w.onnx")]) == 2
    assert "has one class and always answers it" in capsys.readouterr().err
