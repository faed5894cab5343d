"""Who listens to a run: TensorBoard, Prometheus, the report; and what a broken listener costs."""

import builtins
import logging
import math
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError, RunFailedError
from server.outputs import Outputs
from server.report.prometheus import PrometheusFile
from server.report.reporters import Guarded, Reporter, client_measures, pooled_measures
from server.report.tensorboard import TensorBoardLog
from server.run.origin import Origin
from server.run.settings import read_settings_file
from tests.federation_run import SMALL, Run, federate

RECORD: dict[str, Any] = {
    "round": 1,
    "sampled": ["a", "b"],
    "ok": 1,
    "failed": {"b": "timeout"},
    "train_loss": 0.5,
    "validation_accuracy": None,
    "validation_ece": None,
    "validation_failed": {},
    "best": False,
    "counters": {"jitter": 2},
    "bytes_sent": 20,
    "bytes_received": 10,
    "seconds": {"round": 0.4, "train": 0.3, "evaluate": 0.1, "network": 0.1, "gp": 0.2, "eta": 9.0},
}
SECOND = RECORD | {"round": 2, "failed": {}, "ok": 2, "validation_accuracy": 0.75, "train_loss": None}
NAME = 'ward "3"\\\nnorth'
ROWS = [
    {"name": NAME, "classes": ["x"], "n_test": 4, "accuracy": 0.5, "ece": 0.25},
    {"name": "b", "classes": ["y"], "n_test": 0, "accuracy": None, "ece": None},
]
SUMMARY: dict[str, Any] = {
    "status": "completed",
    "accuracy": 0.5,
    "ece": 0.25,
    "nll": None,
    "test_samples": 4,
    "best_round": 2,
    "validation_accuracy": 0.75,
    "seconds": 3.0,
    "gp_share": 0.9,
    "temperature": 0.5,
    "model_temperature": 1.0,
    "validation_samples": 4,
}


def play(reporter: Reporter, settings: Settings = SMALL) -> None:
    reporter.start(settings, 2, Path("/runs/first"), Origin.of(settings, 3))
    reporter.round(RECORD)
    reporter.round(SECOND)
    reporter.finish(ROWS, SUMMARY, Path("/runs/first"))


def samples(path: Path) -> dict[tuple[str, tuple], float]:
    """What Prometheus's own parser reads."""
    families = text_string_to_metric_families(path.read_text())
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}


def test_prometheus_reads_the_state_of_the_run(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "run.prom"
    play(PrometheusFile(path))
    read = samples(path)
    labels = {"run": "first", "dataset": "own data of 3 sites", "variant": "full", "seed": f"{SMALL.seed}"}
    assert read["pfedgp_run_info", tuple(sorted(labels.items()))] == 1
    assert read["pfedgp_round", ()] == 2
    assert read["pfedgp_train_loss", ()] == 0.5  # of round 1: round 2 has none
    assert read["pfedgp_validation_accuracy", ()] == 0.75
    assert read["pfedgp_replies_total", (("outcome", "ok"),)] == 3
    assert read["pfedgp_replies_total", (("outcome", "failed"),)] == 1
    assert read["pfedgp_model_bytes_total", (("direction", "sent"),)] == 40
    assert read["pfedgp_recoveries_total", (("event", "jitter"),)] == 4
    assert read["pfedgp_test_accuracy", ()] == 0.5
    assert read["pfedgp_client_ece", (("client", NAME),)] == 0.25
    assert read["pfedgp_run_status", (("state", "completed"),)] == 1
    assert ("pfedgp_client_accuracy", (("client", "b"),)) not in read
    assert not any("gp_share" in name or "nll" in name for name, _ in read)
    assert all(math.isfinite(value) for value in read.values())
    assert [p.name for p in path.parent.iterdir()] == ["run.prom"]


def test_prometheus_sees_a_run_in_progress_and_a_failed_one(tmp_path: Path) -> None:
    reporter = PrometheusFile(tmp_path / "run.prom")
    reporter.start(SMALL, 2, Path("/runs/first"), Origin.of(SMALL, 0))
    assert samples(tmp_path / "run.prom")["pfedgp_run_status", (("state", "running"),)] == 1
    reporter.fail({"status": "failed", "reason": "x"}, Path("/runs/first"))
    assert samples(tmp_path / "run.prom")["pfedgp_run_status", (("state", "failed"),)] == 1


def scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """What TensorBoard itself reads."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    log = EventAccumulator(str(folder))
    log.Reload()
    assert "settings/text_summary" in log.Tags()["tensors"]
    return {tag: [(e.step, pytest.approx(e.value)) for e in log.Scalars(tag)] for tag in log.Tags()["scalars"]}


def test_tensorboard_reads_rounds_and_results(tmp_path: Path) -> None:
    play(TensorBoardLog(tmp_path))
    read = scalars(tmp_path / "first")
    assert read["train/loss"] == [(1, 0.5)]
    assert read["validation/accuracy"] == [(2, 0.75)]
    assert read["replies/ok"] == [(1, 1.0), (2, 2.0)]
    assert read["replies/failed"] == [(1, 1.0), (2, 0.0)]
    assert read["seconds/gp"] == [(1, 0.2), (2, 0.2)]
    assert read["counters/jitter"][0] == (1, 2.0)
    assert read["test/accuracy"] == [(2, 0.5)]
    assert "test/seconds" not in read


def test_a_missing_tensorboard_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "torch.utils.tensorboard":
            raise ImportError("No module named 'tensorboard'")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigError, match=r"pip install 'pfedgp\[tensorboard\]'"):
        Outputs(tensorboard="tb").check()
    Outputs(prometheus="x.prom").check()


def test_outputs_leave_the_settings_and_are_texts(tmp_path: Path) -> None:
    flat: dict[str, Any] = {"rounds": 3, "out": "a", "prometheus": "b.prom"}
    outputs = Outputs.take(flat)
    assert flat == {"rounds": 3}
    assert outputs == Outputs("a", "", "b.prom")
    assert Outputs.take(outputs.to_run_config()) == outputs
    with pytest.raises(ConfigError, match="tensorboard = 3 is not a text; give the path of a folder"):
        Outputs.take({"tensorboard": 3})
    with pytest.raises(ConfigError, match="is a folder: give the name of a file"):
        Outputs(prometheus=str(tmp_path)).check()
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="is a file: give a folder"):
        Outputs(tensorboard=str(tmp_path / "file")).check()


def test_measures_are_what_was_measured() -> None:
    assert pooled_measures(SUMMARY) == {"accuracy": 0.5, "ece": 0.25}
    assert client_measures(ROWS) == {"accuracy": {NAME: 0.5}, "ece": {NAME: 0.25}}
    assert client_measures([]) == {}


class Broken(Reporter):
    """Fails in every event and counts them."""

    calls = 0

    def round(self, record: Any) -> None:
        self.calls += 1
        raise OSError("disk full")


def test_a_broken_listener_warns_once_and_hears_no_more(caplog: pytest.LogCaptureFixture) -> None:
    broken = Broken()
    play(Guarded(broken, "the picture book"))
    assert broken.calls == 1
    assert [r.getMessage() for r in caplog.records] == ["Without the picture book from here on (OSError: disk full)."]


def run_app(settings: Settings, out: Path, **outputs: str) -> Run:
    from flwr.app import Context, RecordDict

    from client.client_app import app
    from server.server_app import serve
    from tests.fakegrid import FakeGrid

    run_config = settings.to_run_config() | {"out": str(out)} | outputs
    grid = FakeGrid(app, settings.clients)
    serve(grid, Context(1, 1, {}, RecordDict(), dict(run_config)), grid.engine)
    return Run(out)


@pytest.mark.slow
def test_a_run_feeds_them_all(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "pfedgp")
    prometheus, tensorboard = tmp_path / "run.prom", tmp_path / "tb"
    run = run_app(SMALL.replace(rounds=2), tmp_path / "run", prometheus=str(prometheus), tensorboard=str(tensorboard))
    assert samples(prometheus)["pfedgp_test_accuracy", ()] == run.summary["accuracy"]
    losses = [(r["round"], pytest.approx(r["train_loss"])) for r in run.records]
    assert scalars(tensorboard / "run")["train/loss"] == losses
    assert (run.path / "report.html").is_file()
    assert not caplog.records
    assert not {"prometheus", "tensorboard"} & set(read_settings_file(run.path / "config.toml"))


@pytest.mark.slow
def test_a_report_that_fails_costs_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*arguments: Any) -> str:
        raise ZeroDivisionError("no page")

    monkeypatch.setattr("server.report.html.writer.page", broken)
    run = federate(SMALL.replace(rounds=1), tmp_path / "run")
    assert run.summary["status"] == "completed"
    assert not (run.path / "report.html").exists()
    assert "Without the HTML report from here on (ZeroDivisionError: no page)." in caplog.text


def test_a_failed_run_has_a_report_too(tmp_path: Path) -> None:
    settings = SMALL.replace(rounds=2, max_failed_rounds=1, round_timeout=0.3)
    with pytest.raises(RunFailedError):
        federate(settings, tmp_path / "run", lambda q, i, r: None if q.metadata.message_type == "train" else r)
    text = (tmp_path / "run" / "report.html").read_text()
    assert "This run failed: 1 rounds in a row" in text
