"""What is measured afterwards on a run stands in a folder as that of a run, with that run's rounds and costs."""

import json
from pathlib import Path
from typing import Any

import pytest

from pfedgp.experiments import bounds
from pfedgp.experiments.afterwards import measure_afterwards
from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError
from pfedgp_core.files.json_file import read_object
from server.run.settings import dump_settings, read_kept_settings

SETTINGS = Settings(rounds=9, seed=3)
FORMER = {
    "rounds": 9,
    "best_round": 4,
    "gradients": 70,
    "bytes_sent": 5,
    "bytes_received": 6,
    "partition_hash": "ab",
    "cpu_seconds": 1000.0,
    "seconds": 2000.0,
}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A completed run's folder, with its settings beside it."""
    run = tmp_path / "run"
    run.mkdir()
    (run / "summary.json").write_text(json.dumps(FORMER))
    (tmp_path / "settings.toml").write_text(dump_settings(SETTINGS))
    return run


def measure(run: Path, what: Any) -> int:
    return measure_afterwards(run, run.with_name("settings.toml"), run.with_name("out"), what)


def test_the_folder_has_what_was_measured_and_the_runs_rounds(run: Path) -> None:
    assert measure(run, lambda settings: {"accuracy": 0.5, "seed": settings.seed}) == 0
    out = run.with_name("out")
    summary = read_object(out / "summary.json")
    costs = {key: summary.pop(key) for key in ("cpu_seconds", "seconds")}
    of_the_run = {key: value for key, value in FORMER.items() if key not in costs}
    assert summary == {"accuracy": 0.5, "seed": 3, "status": "completed", **of_the_run}
    assert Settings.from_run_config(read_kept_settings(out / "config.toml")) == SETTINGS
    assert (out / "metrics.jsonl").read_text() == ""


def test_the_runs_cost_is_counted_too(run: Path) -> None:
    measure(run, lambda settings: {})
    summary = read_object(run.with_name("out") / "summary.json")
    assert summary["cpu_seconds"] >= 1000.0
    assert summary["seconds"] > 2000.0


def test_a_failure_is_one_sentence_and_leaves_no_folder(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(settings: Settings) -> dict[str, Any]:
        raise ConfigError("There is no such thing: name another.")

    assert measure(run, fail) == 1
    assert capsys.readouterr().err == "pfedgp: There is no such thing: name another.\n"
    assert not run.with_name("out").exists()


def test_bounds_need_a_client_that_never_trains(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bounds.main(str(run), str(run.with_name("settings.toml")), str(run.with_name("out")), "0.05", "1.0") == 1
    assert "set novel-clients" in capsys.readouterr().err
