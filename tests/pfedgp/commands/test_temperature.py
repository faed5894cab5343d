"""The temperature that a run chooses is part of its model: from a federation's end to a new site's probabilities."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.supercore.task_identity import TaskIdentity

from pfedgp.cli import main
from pfedgp_core.errors import ArtefactError
from pfedgp_core.metrics.calibration import TEMPERATURE_LIMITS, is_temperature
from pfedgp_core.metrics.likelihood import LIKELIHOOD_GRID
from pfedgp_core.metrics.temperature import TEMPERATURE_GRID, temperature_scale
from pfedgp_core.site.own_temperature import own_temperature
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.site.site_files import DESCRIPTION
from pfedgp_core.site.trained_model import TrainedModel
from server.outputs import Outputs
from server.run.model_file import load_model, save_model
from tests.fakegrid import FakeGrid
from tests.federation_run import SMALL, Run, client_app, start

pytestmark = pytest.mark.slow

UNSEEN = "client-04"
UNCERTAINTY = ("entropy", "epistemic", "aleatoric")
Predict = Callable[..., tuple[list[dict[str, str]], str]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A federation of the digits whose last client stayed out, at its end."""
    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
    out = tmp_path_factory.mktemp("federation") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Outputs, "reporters", lambda self: [])
        return start(FakeGrid(client_app, SMALL.clients - 1), SMALL.replace(unseen_clients=1), out)


@pytest.fixture(scope="module")
def here(run: Run) -> Path:
    """The folder of the run, with the data and the site of the client that it never saw."""
    here = run.path.parent
    exported = [
        "export-client",
        "--config",
        str(run.path / "config.toml"),
        "--client",
        UNSEEN,
        "--out",
        str(here / "c"),
    ]
    assert main(exported) == 0
    assert onboard(run.path / "best", here / "site", here) == 0
    return here


def onboard(model: Path, site: Path, here: Path, *more: str) -> int:
    data = str(here / "c" / "train.npz")
    return main(["onboard", "--model", str(model), "--data", data, "--out", str(site), "--name", "new", *more])


@pytest.fixture
def predict(here: Path, capsys: pytest.CaptureFixture[str]) -> Predict:
    def predicted(*options: str, site: str = "site") -> tuple[list[dict[str, str]], str]:
        capsys.readouterr()
        data = str(here / "c" / "test.npz")
        assert main(["predict", "--site", str(here / site), "--data", data, "--out", "-", *options]) == 0
        said = capsys.readouterr()
        return list(csv.DictReader(said.out.splitlines())), said.err

    return predicted


def probabilities(rows: list[dict[str, str]]) -> np.ndarray:
    return np.array([[float(row[key]) for key in row if key.startswith("p:")] for row in rows])


def test_a_new_site_can_choose_its_own_temperature(predict: Predict, here: Path) -> None:
    site = SavedSite.load(here / "site")
    own = own_temperature(site)
    rows, said = predict("--temperature", "own")
    raw, _ = predict("--temperature", "1")
    assert f"at temperature {own:g}" in said
    np.testing.assert_allclose(probabilities(rows), temperature_scale(probabilities(raw), own), atol=1e-5)


def test_a_site_that_trained_cannot_choose_its_own_temperature(
    run: Run, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert onboard(run.path / "best", here / "trained", here, "--name", "client-00") == 0
    data = str(here / "c" / "test.npz")
    asked = ["predict", "--site", str(here / "trained"), "--data", data, "--out", "-", "--temperature", "own"]
    assert main(asked) == 2
    assert "leave out --temperature for the model's" in capsys.readouterr().err


def test_predictions_are_at_the_temperature_that_the_run_chose(run: Run, predict: Predict, here: Path) -> None:
    chosen = run.summary["model_temperature"]
    assert chosen in LIKELIHOOD_GRID
    assert chosen != 1
    rows, said = predict("--min-confidence", "0.9")
    raw, said_raw = predict("--min-confidence", "0.9", "--temperature", "1")
    assert f"at temperature {chosen:g}," in said
    assert f"at temperature 1 (the model's is {chosen:g})," in said_raw
    shown, posterior = probabilities(rows), probabilities(raw)
    # The table has six digits.
    np.testing.assert_allclose(shown, temperature_scale(posterior, chosen), atol=2e-5)
    assert np.abs(shown - posterior).max() > 0.05
    for row, other, p in zip(rows, raw, shown, strict=True):
        assert [row[key] for key in ("predicted", *UNCERTAINTY)] == [other[key] for key in ("predicted", *UNCERTAINTY)]
        assert row["abstain"] == str(int(p.max() < 0.9))
    assert sum(row["abstain"] == "1" for row in rows) < sum(row["abstain"] == "1" for row in raw)
    site = SavedSite.load(here / "site")
    inputs = np.load(here / "c" / "test.npz")["inputs"]
    np.testing.assert_allclose(site.predict_proba(inputs), shown, atol=1e-5)
    np.testing.assert_array_equal(site.predict(inputs).predicted, site.predict_proba(inputs).argmax(axis=1))


def test_onboarding_keeps_it_in_the_site_and_says_so(
    run: Run, here: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = run.summary["model_temperature"]
    assert onboard(run.path / "best", tmp_path / "site", here) == 0
    assert f", temperature {chosen:g}, " in capsys.readouterr().out
    assert json.loads((tmp_path / "site" / DESCRIPTION).read_text())["temperature"] == chosen


def without_temperature(run: Run, folder: Path, **changes: Any) -> Path:
    """The best model as former versions left it, or with another temperature."""
    vector, meta = load_model(run.path / "best")
    meta.pop("temperature")
    folder.mkdir()
    save_model(folder / "best", vector, meta | changes)
    return folder / "best"


def test_a_model_without_one_is_at_temperature_one(
    run: Run, here: Path, predict: Predict, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = without_temperature(run, tmp_path / "old")
    assert onboard(old, here / "old-site", here) == 0
    assert "temperature 1 (none was chosen for this model), " in capsys.readouterr().out
    rows, said = predict(site="old-site")
    assert "at temperature 1," in said
    assert rows == predict("--temperature", "1")[0]
    assert onboard(run.path / "best", here / "old-site", here, "--refresh") == 0
    assert f"The temperature changed (1 to {run.summary['model_temperature']:g})." in capsys.readouterr().out
    assert predict(site="old-site")[0] == predict()[0]


@pytest.mark.parametrize("temperature", [0, -0.2, 1e-9, 1e9, True, None, "0.2", [0.2]])
def test_a_temperature_that_cannot_be_is_refused(
    temperature: Any, run: Run, here: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = without_temperature(run, tmp_path / "bad", temperature=temperature)
    capsys.readouterr()
    assert onboard(model, tmp_path / "site", here) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert not (tmp_path / "site").exists()
    assert f"The model's temperature is {temperature}, and no run chooses" in said.err


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_a_temperature_that_is_no_number_is_refused(text: str, run: Run) -> None:
    vector, meta = load_model(run.path / "best")
    with pytest.raises(ArtefactError, match=r"no run chooses one that is not a number from 0\.01 to 10000"):
        TrainedModel.from_artefact(vector, meta | {"temperature": json.loads(text)})


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "1e-5", "1e6"])
def test_the_option_refuses_it_too(value: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    command = ["predict", "--site", str(here / "site"), "--data", str(here / "c" / "test.npz"), "--out", "-"]
    assert main([*command, f"--temperature={value}"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "cannot be: give a number from 0.01 to 10000" in said.err


def test_every_temperature_of_the_grid_is_allowed() -> None:
    assert all(is_temperature(t) for t in (*TEMPERATURE_GRID, *LIKELIHOOD_GRID, *TEMPERATURE_LIMITS, 1))
