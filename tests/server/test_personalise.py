"""The end of a federation of sites with their own data: each makes its classifier from the best model."""

import json
import logging
from pathlib import Path

import pytest
from flwr.app import Error, Message

from pfedgp_core.site.saved import SavedSite
from pfedgp_core.wire.names import CONFIG, ONBOARD, ONBOARDED
from tests.federation_run import SMALL, Run, start
from tests.own_sites import OwnGrid, archive, rows_of
from tests.uninterrupted import without_pictures

SETTINGS = SMALL.replace(clients_per_round=2, rounds=2, evaluate_every=1, round_timeout=60.0)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs leave out what takes most of their time."""
    without_pictures(monkeypatch)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("data")
    return {
        "ward-1": archive(folder / "1.npz", rows_of(0, 1, of=6)),
        "ward-2": archive(folder / "2.npz", rows_of(2, 3, of=6)),
    }


def onboarded(run: Run) -> dict:
    return json.loads((run.path / "onboarded.json").read_text())


def grid_of(data: dict[str, Path], folder: Path, *without_folder: str, tamper=None) -> OwnGrid:
    grid = OwnGrid({}, tamper)
    for name, path in data.items():
        grid.add_site(name, path, **({} if name in without_folder else {"site": str(folder / name)}))
    return grid


def test_sites_make_their_classifiers_from_the_best_model(
    data: dict[str, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "pfedgp")
    run = start(grid_of(data, tmp_path), SETTINGS, tmp_path / "run")
    assert run.summary["status"] == "completed"
    assert run.summary["dataset"] == "own data of 2 sites"
    result = onboarded(run)
    assert (result["status"], result["onboarded"], result["failed"]) == ("completed", 2, 0)
    assert [row["client"] for row in result["sites"]] == ["ward-1", "ward-2"]
    for name in data:
        model = SavedSite.load(tmp_path / name).model
        assert model.vector.tobytes() == run.model("best").tobytes()
        assert model.temperature == result["model"]["temperature"] == run.summary["model_temperature"] != 1
        assert f"{name}: created" in caplog.text


def test_a_site_that_cannot_is_a_warning(
    data: dict[str, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def dies(request: Message, index: int, reply: Message) -> Message:
        died = request.metadata.message_type == ONBOARD and index == 0
        return Message(Error(code=8, reason=""), reply_to=request) if died else reply

    run = start(grid_of(data, tmp_path, tamper=dies), SETTINGS, tmp_path / "run")
    assert run.summary["status"] == "completed"
    failed, made = onboarded(run)["sites"]
    assert (failed["client"], failed["error"]) == ("ward-1", "the client process died")
    assert made["client"] == "ward-2"
    assert (tmp_path / "ward-2").is_dir()
    assert "ward-1: not onboarded, the client process died" in caplog.text


def test_without_any_folder_the_run_is_complete_all_the_same(
    data: dict[str, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = start(grid_of(data, tmp_path, "ward-1", "ward-2"), SETTINGS, tmp_path / "run")
    assert run.summary["status"] == "completed"
    assert onboarded(run)["status"] == "failed"
    assert "it takes no model" in caplog.text


def test_it_can_be_turned_off_and_is_for_own_data_only(data: dict[str, Path], tmp_path: Path) -> None:
    run = start(grid_of(data, tmp_path), SETTINGS.replace(personalise=False), tmp_path / "run")
    assert not (run.path / "onboarded.json").exists()
    assert not (tmp_path / "ward-1").exists()


def test_an_answer_that_cannot_be_read_costs_its_sender_alone(data: dict[str, Path], tmp_path: Path) -> None:
    def garbles(request: Message, index: int, reply: Message) -> Message:
        if request.metadata.message_type == ONBOARD and index == 0:
            reply.content[CONFIG][ONBOARDED] = "[" * 200_000
        return reply

    run = start(grid_of(data, tmp_path, tamper=garbles), SETTINGS, tmp_path / "run")
    failed, made = onboarded(run)["sites"]
    assert (failed["client"], failed["error"]) == ("ward-1", "malformed answer (MalformedError)")
    assert made["client"] == "ward-2"


def test_an_answer_under_another_sites_name_is_refused(data: dict[str, Path], tmp_path: Path) -> None:
    def pretends(request: Message, index: int, reply: Message) -> Message:
        if request.metadata.message_type == ONBOARD and index == 1:
            config = reply.content[CONFIG]
            config[ONBOARDED] = json.dumps(json.loads(str(config[ONBOARDED])) | {"name": "ward-1"})
        return reply

    run = start(grid_of(data, tmp_path, tamper=pretends), SETTINGS, tmp_path / "run")
    made, failed = onboarded(run)["sites"]
    assert made["client"] == "ward-1"
    assert "error" not in made
    assert (failed["client"], failed["error"]) == ("ward-2", "its answer has the name of another site, 'ward-1'")
