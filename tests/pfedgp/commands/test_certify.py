"""The verb ``pfedgp certify`` on saved sites."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pfedgp.cli import main
from pfedgp_core.certificate.binomial_bound import clopper_pearson
from pfedgp_core.certificate.progressive import progress
from pfedgp_core.config import Settings
from pfedgp_core.data.samples import Split
from pfedgp_core.model.shared import SharedState
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.site.samples import SiteSamples
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.site.trained_model import TrainedModel
from tests.core.site.test_shared_head import model, site_of

pytestmark = pytest.mark.slow

NAMES = ("cat", "dog", "eel", "fox")
Certify = Callable[..., dict[str, Any]]


def samples(n: int, seed: int, k: int = 2) -> Split:
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(k), rng.integers(0, k, n - k)]
    return Split((3 * np.eye(5)[y] + 0.3 * rng.normal(size=(n, 5))).astype(np.float32), y)


def save_site(path: Path, split: Split, participants: tuple[str, ...] = ()) -> Path:
    settings = Settings(network="mlp", feature_dim=8)
    vector = SharedState.initial(settings, (5,), len(NAMES)).to_vector()
    model = TrainedModel(vector, settings, NAMES, (5,), np.zeros(5, np.float32), np.ones(5, np.float32), participants)
    SavedSite.fit("ward", model, SiteSamples.compute(split, model)).save(path)
    return path


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_site(tmp_path_factory.mktemp("sites") / "ward", samples(80, seed=0))


@pytest.fixture
def certify(site: Path, capsys: pytest.CaptureFixture[str]) -> Certify:
    def run(*options: str) -> dict[str, Any]:
        assert main(["certify", "--site", str(site), "--json", *options]) == 0
        return json.loads(capsys.readouterr().out)

    return run


def refusal(capsys: pytest.CaptureFixture[str], site: Path, *options: str) -> str:
    assert main(["certify", "--site", str(site), *options]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    return said.err


def held_out(path: Path, split: Split) -> Path:
    np.savez(path, inputs=split.inputs, labels=split.labels, class_names=np.array(NAMES))
    return path


def test_pac_bayes(certify: Certify, site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = certify("--method", "pac-bayes", "--unseen", "--delta", "0.05")
    assert found["method"] == "pac-bayes"
    assert found["n"] == 80
    assert found["classes"] == ["cat", "dog"]
    assert 0 < found["gibbs"]["bound"] < found["wrong_probability"]["bound"] < 1
    assert found["unseen"] == "asserted by the operator"
    assert certify("--unseen", "--delta", "0.05", "--classes", "dog,cat")["price_classes"] == 0.0
    assert main(["certify", "--site", str(site), "--method", "pac-bayes", "--unseen"]) == 0
    text = capsys.readouterr().out
    assert "error of the deployed classifier" in text
    assert "provided that:" in text


@pytest.mark.parametrize("method", ["pac-bayes", "data-prior", "progressive"])
def test_a_site_about_a_shared_head(method: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site_of(model(), 60, (0, 1)).save(tmp_path / "ward")
    assert main(["certify", "--site", str(tmp_path / "ward"), "--json", "--unseen", "--method", method]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["classes"] == ["ant", "bee"]
    bound = found["on_the_way" if method == "progressive" else "gibbs"]["bound"]
    assert 0 < bound < 1
    assert "shared head" in " ".join(found["conditions"])


def test_data_prior(certify: Certify, tmp_path: Path, capsys: pytest.CaptureFixture[str], site: Path) -> None:
    alone = certify("--unseen", "--method", "data-prior")
    assert (alone["n"], alone["prior"], alone["tested"]) == (80, 20, 60)
    assert 0 < alone["gibbs"]["bound"] < alone["wrong_probability"]["bound"] < alone["deployed"]["bound"] == 1
    assert "held-out" in alone["advice"]
    path = held_out(tmp_path / "new.npz", samples(300, seed=5))
    found = certify("--unseen", "--method", "data-prior", "--unlabelled", str(path))
    assert found["unlabelled"] == 300
    assert found["deployed"]["bound"] == found["vote"]["bound"] + found["disagreement"]["bound"]
    assert certify("--unseen", "--method", "data-prior", "--unlabelled", str(path)) == found
    assert main(["certify", "--site", str(site), "--unseen", "--method", "data-prior"]) == 0
    text = capsys.readouterr().out
    assert "20 samples made the prior, and 60 the bound" in text
    assert "error of this posterior's vote" in text


def test_progressive(certify: Certify, tmp_path: Path, capsys: pytest.CaptureFixture[str], site: Path) -> None:
    alone = certify("--unseen")
    assert alone["method"] == "progressive"
    assert "own samples alone" in alone["reason"]
    assert (alone["tested"], alone["unlabelled"], alone["deployed"]["bound"]) == (40, 0, 1.0)
    assert "unlabelled inputs" in alone["advice"]
    path = held_out(tmp_path / "new.npz", samples(300, seed=5))
    found = certify("--unseen", "--unlabelled", str(path))
    assert found["unlabelled"] == 300
    assert found["deployed"]["bound"] == found["on_the_way"]["bound"] + found["disagreement"]["bound"]
    assert found["deployed"]["bound"] < 0.5
    assert found["advice"] is None
    assert found["on_the_way"]["bound"] > alone["on_the_way"]["bound"]  # which has all of delta
    assert certify("--unseen", "--unlabelled", str(path)) == found
    assert main(["certify", "--site", str(site), "--unseen", "--unlabelled", str(path)]) == 0
    text = capsys.readouterr().out
    assert "This method because it needs" in text
    assert "mean error of the classifiers on the way" in text


def test_the_order_of_the_samples_is_the_model_s(certify: Certify, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    orders = []

    def noted(fit: Any, features: Any, labels: Any, order: np.ndarray, *rest: Any, **more: Any) -> Any:
        orders.append(order.tolist())
        return progress(fit, features, labels, order, *rest, **more)

    monkeypatch.setattr("pfedgp_core.certificate.progressive.progress", noted)
    certify("--unseen")
    certify("--unseen", "--delta", "0.05")
    stream = Stream(0, "certificate", "order", SavedSite.load(site).model.sha256)
    assert orders == [stream.numpy.permutation(80).tolist()] * 2


def test_the_method_goes_by_what_is_given(certify: Certify, tmp_path: Path) -> None:
    path = held_out(tmp_path / "new.npz", samples(100, seed=1))
    assert certify("--data", str(path))["method"] == "held-out"
    assert certify("--unseen", "--classes", "cat,dog")["method"] == "pac-bayes"
    assert certify("--unseen", "--method", "pac-bayes")["reason"] == "asked for"


def test_held_out(certify: Certify, tmp_path: Path, capsys: pytest.CaptureFixture[str], site: Path) -> None:
    data = samples(200, seed=1, k=3)  # eel is a class that the site does not have
    path = held_out(tmp_path / "new.npz", data)
    found = certify("--method", "held-out", "--data", str(path))
    errors = int((SavedSite.load(site).predict_proba(data.inputs).argmax(1) != data.labels).sum())
    assert errors >= (data.labels == 2).sum()
    assert found["deployed"]["errors"] == errors
    assert found["deployed"]["bound"] == clopper_pearson(errors, 200, 0.01)
    assert main(["certify", "--site", str(site), "--method", "held-out", "--data", str(path)]) == 0
    assert "error of the deployed classifier" in capsys.readouterr().out


def test_a_temperature_changes_no_bound(
    certify: Certify, site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = SavedSite.load(site)
    at = tmp_path / "at"
    replace(plain, model=replace(plain.model, temperature=0.2)).save(at)
    path = held_out(tmp_path / "new.npz", samples(200, seed=1, k=3))
    for options in (("--unseen",), ("--unseen", "--method", "pac-bayes"), ("--data", str(path))):
        before = certify(*options)
        assert main(["certify", "--site", str(at), "--json", *options]) == 0
        after = json.loads(capsys.readouterr().out)
        assert (before.pop("temperature"), after.pop("temperature")) == (1, 0.2)
        assert before == after
    assert main(["certify", "--site", str(at), "--unseen", "--method", "pac-bayes"]) == 0
    assert "that at temperature 1, not at the site's 0.2; the answers" in capsys.readouterr().out
    assert main(["certify", "--site", str(site), "--unseen", "--method", "pac-bayes"]) == 0
    assert "at temperature" not in capsys.readouterr().out


def test_refusals(site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "give --unseen" in refusal(capsys, site)
    assert "fixed in advance" in refusal(capsys, site, "--unseen", "--classes", "cat,dog,eel")
    assert "'cow'" in refusal(capsys, site, "--unseen", "--classes", "cat,cow")
    for delta in ("0", "5e-324", "0.9999999999999999", "nan"):
        assert "is not from 1e-12 to 0.5" in refusal(capsys, site, "--unseen", "--delta", delta)
    assert "give them with --data" in refusal(capsys, site, "--method", "held-out")
    for options, text in (
        (("--method", "pac-bayes", "--data", "x.npz"), "held-out: pac-bayes"),
        (("--unseen", "--data", "x.npz"), "--unseen belongs"),
        (("--method", "progressive", "--classes", "cat,dog"), "--classes belongs"),
        (("--method", "pac-bayes", "--unlabelled", "x.npz"), "--unlabelled belongs"),
    ):
        assert text in refusal(capsys, site, *options)
    assert "no complete site" in refusal(capsys, tmp_path, "--unseen")
    fitted = held_out(tmp_path / "fitted.npz", samples(80, seed=0))
    assert "fitted on (80)" in refusal(capsys, site, "--method", "held-out", "--data", str(fitted))
    new = samples(30, seed=2)
    doubled = held_out(tmp_path / "twice.npz", Split(np.tile(new.inputs, (2, 1)), np.tile(new.labels, 2)))
    assert "equal each other (30)" in refusal(capsys, site, "--method", "held-out", "--data", str(doubled))
    assert "fitted on (80)" in refusal(capsys, site, "--unseen", "--unlabelled", str(fitted))
    assert "are copies (30)" in refusal(capsys, site, "--unseen", "--unlabelled", str(doubled))


def test_copies_among_the_samples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    once = samples(40, seed=0)
    site = save_site(tmp_path / "ward", Split(np.tile(once.inputs, (2, 1)), np.tile(once.labels, 2)))
    assert "40 of the 80 samples equal another one" in refusal(capsys, site, "--unseen")
    assert main(["certify", "--site", str(site), "--unseen", "--repeats-are-genuine", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["repeated_samples"] == 40


def test_a_participant_is_refused_whatever_is_asserted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = save_site(tmp_path / "ward", samples(40, seed=0), participants=("clinic", "ward"))
    assert "took part in training" in refusal(capsys, site, "--unseen")
    new = held_out(tmp_path / "new.npz", samples(50, seed=1))
    assert main(["certify", "--site", str(site), "--method", "held-out", "--data", str(new)]) == 0
