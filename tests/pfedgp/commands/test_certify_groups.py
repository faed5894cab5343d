"""``pfedgp certify`` and ``predict --risk`` on samples of groups, such as several of each patient."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pfedgp.cli import main
from pfedgp_core.config import Settings
from pfedgp_core.data.own.reader import read_samples
from pfedgp_core.data.samples import Split
from pfedgp_core.model.shared import SharedState
from pfedgp_core.site.origins import origins_of
from pfedgp_core.site.samples import SiteSamples
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.site.trained_model import TrainedModel

pytestmark = pytest.mark.slow

NAMES = ("cat", "dog")


def data(path: Path, patients: range, images: int = 3, named: bool = True) -> Path:
    """Images of patients that are much alike within one of them."""
    rng = np.random.default_rng(patients.start)
    number = np.repeat(np.array(patients), images)
    labels = number % 2
    inputs = (3 * np.eye(5)[labels] + 0.3 * rng.normal(size=(len(patients), 5))[number - patients.start]).astype("f4")
    inputs += 0.01 * rng.normal(size=inputs.shape).astype("f4")
    arrays = {"inputs": inputs, "labels": labels, "class_names": np.array(NAMES)}
    groups = {"groups": np.array([f"patient {i}" for i in number])} if named else {}
    np.savez(path, **arrays, **groups)
    return path


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sites")
    settings = Settings(network="mlp", feature_dim=8)
    vector = SharedState.initial(settings, (5,), 2).to_vector()
    model = TrainedModel(vector, settings, NAMES, (5,), np.zeros(5, np.float32), np.ones(5, np.float32))
    read = read_samples(data(folder / "own.npz", range(40)))
    split = Split(read.inputs, np.array([int(name == "dog") for name in read.labels or ()]))
    SavedSite.fit("ward", model, SiteSamples.compute(split, model, origins_of(read))).save(folder / "ward")
    return folder / "ward"


def certified(capsys: pytest.CaptureFixture[str], site: Path, *options: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["certify", "--site", str(site), "--json", *options]) == 0
    return json.loads(capsys.readouterr().out)


def refusal(capsys: pytest.CaptureFixture[str], site: Path, *options: str) -> str:
    capsys.readouterr()
    assert main(["certify", "--site", str(site), *options]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


def test_groups_count(site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = data(tmp_path / "new.npz", range(40, 100))
    found = certified(capsys, site, "--unseen", "--unlabelled", str(new))
    assert (found["n"], found["counts"], found["samples"]) == (40, "groups", 120)
    assert (found["tested"], found["unlabelled"]) == (20, 60)
    held = certified(capsys, site, "--data", str(new))
    assert (held["n"], held["counts"], held["samples"]) == (60, "groups", 180)
    pac = certified(capsys, site, "--unseen", "--method", "pac-bayes")
    assert (pac["n"], pac["counts"], pac["samples"]) == (40, "groups", 120)
    assert main(["certify", "--site", str(site), "--data", str(new)]) == 0
    assert "180 samples of 60 groups, which count" in capsys.readouterr().out


def test_the_order_of_the_file_decides_nothing(site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = data(tmp_path / "new.npz", range(41, 60))
    arrays = dict(np.load(new))
    back = {name: values if name == "class_names" else values[::-1] for name, values in arrays.items()}
    np.savez(tmp_path / "back.npz", **back)
    assert certified(capsys, site, "--data", str(new)) == certified(capsys, site, "--data", str(tmp_path / "back.npz"))


def test_a_patient_on_both_sides_is_refused(site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = data(tmp_path / "both.npz", range(38, 60))
    for option in (("--data",), ("--unseen", "--unlabelled")):
        assert "6 of the 66 samples" in refusal(capsys, site, *option, str(both))
        assert "are of groups that the site has samples of" in refusal(capsys, site, *option, str(both))


def test_groups_that_are_not_named_are_asked_for(
    site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nameless = data(tmp_path / "new.npz", range(40, 60), named=False)
    for option in (("--data",), ("--unseen", "--unlabelled")):
        assert "are of 40 groups, and those in" in refusal(capsys, site, *option, str(nameless))


def test_copies_within_a_patient_are_no_fault(site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arrays = dict(np.load(data(tmp_path / "new.npz", range(40, 60))))
    twice = {name: values if name == "class_names" else np.tile(values.T, 2).T for name, values in arrays.items()}
    np.savez(tmp_path / "twice.npz", **twice)
    assert certified(capsys, site, "--data", str(tmp_path / "twice.npz"))["samples"] == 120
    twice["groups"] = np.array([f"{name} {i >= 60}" for i, name in enumerate(twice["groups"])])
    np.savez(tmp_path / "others.npz", **twice)
    assert "equal each other (60)" in refusal(capsys, site, "--data", str(tmp_path / "others.npz"))


def test_a_risk_counts_one_sample_of_each_patient(
    site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept, new = (
        str(data(tmp_path / name, who)) for name, who in (("kept.npz", range(40, 90)), ("n.npz", range(90, 99)))
    )
    out = str(tmp_path / "p.csv")
    options = ("--data", new, "--out", out, "--risk", "0.3", "--calibration", kept, "--sets", "0.8")
    assert main(["predict", "--site", str(site), *options]) == 0
    said = capsys.readouterr().err
    assert "of 50 kept-out samples, one of each group of 150, of this site" in said
    assert "by 50 samples, one of each group of 150: proved" in said
