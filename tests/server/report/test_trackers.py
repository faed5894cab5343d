"""Runs in MLflow and Weights & Biases, in files on this machine: what they hold, resume, failure, no package."""

import builtins
import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError
from server.outputs import Outputs
from server.report.mlflow_log import MlflowLog, tracking_address
from server.report.reporters import Reporter
from server.report.scalars import final_scalars
from server.report.wandb_log import WandbLog
from server.run.origin import Origin
from tests.waiting import wait_for

BLOCK = 32768  # bytes
SETTINGS = Settings(rounds=3, learning_rate=0.0625)
ROWS = [{"name": "ward-secret", "accuracy": 0.5}, {"name": "b", "accuracy": 1.0}, {"name": "c", "accuracy": 0.75}]
SUMMARY: dict[str, Any] = {"status": "completed", "accuracy": 0.8, "nll": None, "best_round": 2, "seconds": 3.0}


def record(number: int, loss: float) -> dict[str, Any]:
    return {"round": number, "ok": 2, "failed": {"ward-secret": "timeout"}, "train_loss": loss, "best": False}


def begun(reporter: Reporter, path: Path) -> None:
    path.mkdir(exist_ok=True)
    reporter.start(SETTINGS, 3, path, Origin.of(SETTINGS, 3))


def in_mlflow(file: Path) -> list[Any]:
    """All runs of a data base, as MLflow's own client reads them."""
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=tracking_address(str(file)))
    experiment = client.get_experiment_by_name("pfedgp")
    return list(client.search_runs([experiment.experiment_id]))


def curve(file: Path, run: Any, key: str) -> list[tuple[int, float]]:
    from mlflow.tracking import MlflowClient

    history = MlflowClient(tracking_uri=tracking_address(str(file))).get_metric_history(run.info.run_id, key)
    return [(point.step, point.value) for point in history]


def records(content: bytes) -> Iterator[bytes]:
    """Whole records of a log as LevelDB writes it, behind seven bytes: pieces with sum, length and kind, in blocks."""
    place, held = 7, b""
    while place < len(content):
        if (room := BLOCK - place % BLOCK) < 7:
            place += room
            continue
        length, kind = struct.unpack("<HB", content[place + 4 : place + 7].ljust(3, b"\0"))
        if place + 7 + length > len(content):
            return  # not written yet
        held += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # whole, or the last piece
            yield held
            held = b""


def entries(folder: Path) -> list[Any]:
    """What the file holds that ``wandb sync`` would send."""
    from wandb.proto.wandb_internal_pb2 import Record

    found = []
    for file in sorted(folder.glob("wandb/offline-run-*/run-*.wandb")):
        for data in records(file.read_bytes()):
            found.append(Record())
            found[-1].ParseFromString(data)
    return found


def in_wandb(folder: Path) -> tuple[dict[str, str], list[dict[str, str]]]:
    """The final summary, and the history; wandb's own program writes the file a moment after the run has ended."""
    wait_for(lambda: any(entry.HasField("exit") for entry in entries(folder)), 60, "the file is whole")
    summary: dict[str, str] = {}
    history = []
    for entry in entries(folder):
        if entry.HasField("history"):
            history.append({"/".join(i.nested_key) or i.key: i.value_json for i in entry.history.item})
        for item in entry.summary.update:
            summary["/".join(item.nested_key) or item.key] = item.value_json
    return summary, history


@pytest.mark.slow
def test_mlflow_has_settings_rounds_and_results(tmp_path: Path) -> None:
    pytest.importorskip("mlflow")
    log, file = MlflowLog(str(tmp_path / "m.db")), tmp_path / "m.db"
    begun(log, tmp_path / "first")
    log.round(record(1, 0.5))
    log.round(record(2, math.nan))
    log.finish(ROWS, SUMMARY, tmp_path / "first")
    (run,) = in_mlflow(file)
    assert run.info.run_name == "first"
    assert run.info.status == "FINISHED"
    assert run.data.params["learning-rate"] == "0.0625"
    assert curve(file, run, "train/loss") == [(1, 0.5)]
    assert curve(file, run, "replies/failed") == [(1, 1.0), (2, 1.0)]
    assert curve(file, run, "test/accuracy") == [(2, 0.8)]
    assert run.data.metrics["clients/accuracy/median"] == 0.75
    assert "ward-secret" not in repr(run)


@pytest.mark.slow
def test_a_resumed_run_goes_on_in_mlflow_and_another_folder_is_another_run(tmp_path: Path) -> None:
    pytest.importorskip("mlflow")
    file = tmp_path / "m.db"
    for number in (1, 2):
        log = MlflowLog(str(file))
        begun(log, tmp_path / "first")
        log.round(record(number, 0.5))
    log.fail({"reason": "the disk is full"}, tmp_path / "first")
    (run,) = in_mlflow(file)
    assert curve(file, run, "train/loss") == [(1, 0.5), (2, 0.5)]
    assert run.info.status == "FAILED"
    assert run.data.tags["reason"] == "the disk is full"
    begun(MlflowLog(str(file)), tmp_path / "second")
    assert len(in_mlflow(file)) == 2


@pytest.mark.slow
def test_weights_and_biases_has_rounds_and_results_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.delenv("WANDB_MODE", raising=False)
    log, path = WandbLog("wards"), tmp_path / "first"
    begun(log, path)
    log.round(record(1, 0.5))
    log.round(record(2, math.nan))
    log.finish(ROWS, SUMMARY, path)
    summary, history = in_wandb(path)
    assert [(int(h["_step"]), h.get("train/loss")) for h in history] == [(1, "0.5"), (2, None)]
    assert float(summary["test/accuracy"]) == 0.8
    assert float(summary["clients/accuracy/smallest"]) == 0.5
    assert "ward-secret" not in repr((summary, history))


def test_a_place_of_its_program_that_is_read_too_early_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb = pytest.importorskip("wandb")
    real, tries = wandb.init, []

    def early(**about: Any) -> Any:
        tries.append(about["id"])
        if len(tries) < 3:
            raise IndexError("list index out of range")  # of the last line of an empty file
        return real(**about)

    monkeypatch.delenv("WANDB_MODE", raising=False)
    monkeypatch.setattr(wandb, "init", early)
    log, path = WandbLog("wards"), tmp_path / "first"
    begun(log, path)
    log.round(record(1, 0.5))
    log.finish(ROWS, SUMMARY, path)
    assert len(tries) == 3
    assert [h["train/loss"] for h in in_wandb(path)[1]] == ["0.5"]


def test_a_tool_that_never_began_costs_nothing() -> None:
    for log in (MlflowLog("m.db"), WandbLog("wards")):
        log.round(record(1, 0.5))
        log.fail({"reason": "x"}, Path("first"))


def test_the_final_numbers_name_no_client() -> None:
    found = dict(final_scalars(ROWS, SUMMARY))
    assert found == {
        "test/accuracy": 0.8,
        "clients/accuracy/smallest": 0.5,
        "clients/accuracy/median": 0.75,
        "clients/accuracy/largest": 1.0,
    }


@pytest.mark.parametrize(("package", "given"), [("mlflow.tracking", "mlflow"), ("wandb", "wandb")])
def test_a_missing_package_is_one_sentence(package: str, given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == package:
            raise ImportError(f"No module named {name!r}")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigError, match=rf"pip install 'pfedgp\[{given}\]'"):
        Outputs(**{given: "x"}).check()


def test_what_is_no_file_or_project_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("mlflow")
    pytest.importorskip("wandb")
    with pytest.raises(ConfigError, match="is a folder"):
        Outputs(mlflow=str(tmp_path)).check()
    with pytest.raises(ConfigError, match="no name of a project"):
        Outputs(wandb="a/b c").check()
    Outputs(mlflow="http://localhost:5000", wandb="wards").check()


def test_the_address_of_a_file_and_of_a_server() -> None:
    assert tracking_address("/data/m.db") == "sqlite:////data/m.db"
    assert tracking_address("https://tracker") == "https://tracker"
