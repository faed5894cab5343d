"""Onboarding from the command line: export a client, check its data, onboard, predict; mistakes are one sentence."""

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from pfedgp.cli import main
from pfedgp_core.config import Settings
from pfedgp_core.data.datasets import load_dataset
from pfedgp_core.data.simulated import simulated_partition
from pfedgp_core.model.shared import SharedState
from server.run.artefacts import RunFolder

COLUMNS = ["entropy", "epistemic", "aleatoric", "abstain"]


def save_model(run: Path, seed: int = 0, **meta: Any) -> Path:
    """An untrained model of the digits federation, as a run leaves it."""
    settings = Settings(seed=seed, feature_dim=8)
    dataset = load_dataset("digits")
    vector = SharedState.initial(settings, dataset.input_shape, 10).to_vector()
    about = {
        "settings": settings.to_run_config(),
        "class_names": list(dataset.class_names),
        "input_shape": list(dataset.input_shape),
        "normalisation": {"mean": dataset.mean.tolist(), "std": dataset.std.tolist()},
    }
    run.mkdir(exist_ok=True)
    RunFolder(run, {}).save_model("best", vector, {k: v for k, v in (about | meta).items() if v is not None})
    return run / "best"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PFEDGP_DEBUG", raising=False)
    save_model(tmp_path / "run")
    return tmp_path


def ran(*argv: str) -> None:
    assert main(list(argv)) == 0


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    capsys.readouterr()
    assert main(list(argv)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("pfedgp: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    return err


def test_from_a_simulated_client_to_predictions(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran("export-client", "--dataset", "digits", "--clients", "20", "--client", "client-18", "--out", "c18")
    partition = simulated_partition(Settings())
    with np.load("c18/train.npz") as exported:
        rows = partition.indices["train"][18]
        np.testing.assert_array_equal(exported["inputs"], load_dataset("digits").train.inputs[rows])
        assert exported["class_names"].tolist() == list("0123456789")
        n_train = len(exported["labels"])
    ran("check-data", "c18")
    out = capsys.readouterr().out
    assert "not compared with a model: --model RUN/best says" in out
    assert "Nor with the data of other sites: a run refuses those that differ" in out
    ran("check-data", "c18", "--model", "run/best")
    ran("onboard", "--model", "run/best", "--data", "c18", "--out", "sites/ward-3")
    out = capsys.readouterr().out
    assert "not compared" not in out
    assert "These data can be used." in out
    assert f"Site 'ward-3': {n_train} samples" in out
    ran("predict", "--site", "sites/ward-3", "--data", "c18/test.npz", "--out", "p.csv", "--min-confidence", "0.8")
    said = capsys.readouterr()
    found = re.search(r"(\d+) predictions .* (\d+) to abstain from, accuracy ([\d.]+)%", said.err)
    assert said.out == ""
    assert found
    assert float(found[3]) > 70
    with Path("p.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    names = [load_dataset("digits").class_names[c] for c in partition.classes[18]]
    assert header == ["id", "predicted", *(f"p:{name}" for name in names), *COLUMNS]
    assert len(rows) == int(found[1])
    assert [row[0] for row in rows] == [str(i + 1) for i in range(len(rows))]
    for row in rows:
        p = [float(cell) for cell in row[2:4]]
        entropy, epistemic, aleatoric = map(float, row[4:7])
        assert abs(sum(p) - 1) < 1e-5
        assert row[1] == names[p[1] > p[0]]
        assert row[7] == str(int(max(p) < 0.8))
        assert abs(entropy - epistemic - aleatoric) < 1e-4
        assert min(epistemic, aleatoric) >= 0
    assert sum(row[7] == "1" for row in rows) == int(found[2])


def test_images_by_name_to_the_standard_output(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    images = load_dataset("digits").train
    for i in range(40):
        folder = here / "images" / str(images.labels[i])
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(images.inputs[i, 0]).save(folder / f"{i}.png")
        (here / "new").mkdir(exist_ok=True)
        Image.fromarray(images.inputs[i, 0]).resize((16, 16)).save(here / "new" / f"{i}.png")
    ran("onboard", "--model", "run/best", "--data", "images", "--out", "site", "--name", "ward 3")
    capsys.readouterr()
    assert "40 of 16 x 16" in refused(capsys, "predict", "--site", "site", "--data", "new", "--out", "-")
    ran("predict", "--site", "site", "--data", "new", "--out", "-", "--resize", "--model", "run/best")
    said = capsys.readouterr()
    rows = list(csv.DictReader(said.out.splitlines()))
    assert [row["id"] for row in rows][:2] == ["0.png", "1.png"]
    assert {row["abstain"] for row in rows} == {"0"}
    assert "40 predictions of site 'ward 3'" in said.err
    assert "accuracy" not in said.err


def test_add_and_refresh(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train = load_dataset("digits").train
    for name, rows in (("a", slice(0, 30)), ("b", slice(30, 50)), ("one", slice(0, 1))):
        np.savez(f"{name}.npz", x=train.inputs[rows], y=train.labels[rows])
    ran("onboard", "--model", "run/best", "--data", "a.npz", "--out", "site")
    ran("onboard", "--out", "site", "--add", "b.npz")
    ran("onboard", "--model", "run/best", "--data", "a.npz", "--add", "b.npz", "--out", "whole")
    assert (here / "site/site.safetensors").read_bytes() == (here / "whole/site.safetensors").read_bytes()
    capsys.readouterr()
    ran("onboard", "--refresh", "--data", "a.npz", "--add", "b.npz", "--out", "site", "--model", "run/best")
    assert "Neither the model nor the data changed." in capsys.readouterr().out
    other = save_model(here / "other", seed=1)
    message = refused(capsys, "predict", "--site", "site", "--data", "a.npz", "--out", "p.csv", "--model", str(other))
    assert "run pfedgp onboard --refresh" in message
    assert not (here / "p.csv").exists()
    ran("onboard", "--refresh", "--data", "one.npz", "--out", "site", "--model", str(other))
    out = capsys.readouterr().out
    assert "The model changed" in out
    assert "The data changed (50 samples to 1)" in out
    assert "only, so its" in out
    ran("predict", "--site", "site", "--data", "one.npz", "--out", "p.csv")
    assert "the only class of the site" in capsys.readouterr().err


def test_normalisation_falls_back_on_the_data_set(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("a.npz", x=load_dataset("digits").train.inputs[:20], y=np.arange(20) % 2)
    for name, meta in (("old", {"normalisation": None}), ("new", {})):
        model = save_model(here / name, **meta)
        ran("onboard", "--model", str(model), "--data", "a.npz", "--out", f"site-{name}")
    assert (here / "site-old/site.safetensors").read_bytes() == (here / "site-new/site.safetensors").read_bytes()
    gone = Settings(dataset="cifar10", data_root=str(here / "none"), feature_dim=8).to_run_config()
    for meta, expected in (
        ({"normalisation": None, "settings": gone}, "does not hold the normalisation"),
        ({"normalisation": None, "input_shape": [1, 9, 9]}, "has (1, 8, 8)"),
        ({"normalisation": {"mean": [0.5, 0.5], "std": [1, 1]}}, "does not fit its inputs"),
        ({"class_names": None}, "does not say what it is for"),
        ({"input_shape": [1, 16, 16]}, "must use the same network"),
    ):
        model = save_model(here / "broken", **meta)
        data = here / "b.npz"
        np.savez(data, x=np.zeros((2, 1, *meta.get("input_shape", [1, 8, 8])[1:]), np.uint8), y=[0, 1])
        message = refused(capsys, "onboard", "--model", str(model), "--data", "b.npz", "--out", "site")
        assert expected in message
        assert not (here / "site").exists()


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ("onboard --out site", "There are no data"),
        ("onboard --out site --data a.npz", "needs a trained model"),
        ("onboard --out site --add a.npz", "There is no site at"),
        ("onboard --out site --refresh --model run/best", "give them with --data"),
        ("onboard --out site --model nowhere --data a.npz", "no model in nowhere"),
        ("onboard --out site --model run/best --data nowhere", "nothing at nowhere"),
        ("onboard --out site --model run/best --data run", "no image in run"),
        ("onboard --out a.npz --model run/best --data a.npz", "in use by something else"),
        ("onboard --out site --model run/best --data a.npz --name ", "is not a name"),
        ("predict --site run --data a.npz --out p.csv", "no complete site"),
        ("predict --site run --data a.npz --out p.csv --min-confidence 1.5", "no probability"),
        ("predict --site run --data a.npz --out no/p.csv", "folder that exists"),
        ("check-data nowhere", "nothing at nowhere"),
        ("export-client --client client-21 --out c", "not in the federation"),
        ("export-client --clients 3 --client client-00 --out c", "clients = 3"),
        ("export-client --client client-00 --out run", "not empty"),
        ("export-client --dataset nope --client client-00 --out c", "'nope' is not known"),
    ],
)
def test_mistakes(argv: str, expected: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("a.npz", x=np.zeros((2, 8, 8), np.uint8), y=[0, 1])
    before = sorted(here.rglob("*"))
    assert expected in refused(capsys, *argv.split(" "))
    assert sorted(here.rglob("*")) == before


def test_the_state_folder_of_a_client_is_no_site_but_holds_one(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("a.npz", x=np.zeros((2, 8, 8), np.uint8), y=[0, 1])
    (here / "state").mkdir()
    ran("onboard", "--out", "state/site", "--model", "run/best", "--data", "a.npz")
    message = refused(capsys, "predict", "--site", "state", "--data", "a.npz", "--out", "p.csv")
    assert "did you mean state/site?" in message
    assert not (here / "p.csv").exists()
    ran("predict", "--site", "state/site", "--data", "a.npz", "--out", "p.csv")


def test_data_that_cannot_be_used(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "data" / "cat").mkdir(parents=True)
    (here / "data" / "cat" / "1.png").write_bytes(b"no image")
    assert main(["check-data", "data"]) == 2
    out, err = capsys.readouterr()
    assert "cat/1.png (not an image)" in out
    assert "cannot be used as they are" in out
    assert err == ""
    (here / "empty").mkdir()
    assert main(["check-data", "empty"]) == 2
