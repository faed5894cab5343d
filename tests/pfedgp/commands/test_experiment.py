"""``pfedgp experiment``, with runs of two rounds on the digits."""

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from pfedgp.cli import main
from tests.small_experiment import TEXT, written
from tests.waiting import wait_for

TINY = TEXT.replace("seeds = [0, 1]", "seeds = [0]")
LONG = TINY.replace("rounds = 2", "rounds = 400")


def results(out: Path) -> dict[str, dict[str, Any]]:
    return {file.stem: json.loads(file.read_text()) for file in sorted((out / "cells").glob("*.json"))}


def call(tmp_path: Path, text: str = TINY, *options: str) -> int:
    return main(["experiment", str(written(tmp_path, text)), "--out", str(tmp_path / "out"), "--jobs", "2", *options])


def started(tmp_path: Path, *options: str) -> "subprocess.Popen[str]":
    """The command as a process, once a cell has done a round."""
    command = [sys.executable, "-m", "pfedgp", "experiment", str(written(tmp_path, LONG)), "--columns", "two"]
    command += ["--out", str(tmp_path / "out"), "--jobs", "1", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = tmp_path / "out" / "runs" / "full.two.seed-0" / "metrics.jsonl"
    wait_for(lambda: process.poll() is not None or (lines.exists() and lines.read_bytes()), 480, "a round")
    assert process.poll() is None, process.communicate()
    return process


@pytest.mark.slow
def test_cells_are_run_once_and_the_tables_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    assert call(tmp_path, TINY, "--columns", "two", "--write", str(page)) == 0
    out = tmp_path / "out"
    found = results(out)
    assert list(found) == ["fedavg.two.seed-0", "full.two.seed-0"]
    full = found["full.two.seed-0"]
    assert full["metrics"]["accuracy"] > 0.1
    assert (full["rounds"], full["settings"]["seed"], len(full["curve"])) == (2, 0, 1)
    assert full["costs"]["gradients"] == 4
    assert "not run" not in (out / "table.md").read_text()
    assert "<!-- experiment small -->" in page.read_text()
    before = {file: file.stat().st_mtime_ns for file in (out / "cells").iterdir()}
    capsys.readouterr()
    # All is done, so nothing is started.
    monkeypatch.setattr("pfedgp.experiments.runner.CellProcess", None)
    assert call(tmp_path, TINY, "--columns", "two") == 0
    assert {file: file.stat().st_mtime_ns for file in (out / "cells").iterdir()} == before
    assert f"{100 * full['metrics']['accuracy']:.1f}" in capsys.readouterr().out


@pytest.mark.slow
def test_a_failed_cell_is_kept_with_its_reason_and_the_others_go_on(tmp_path: Path) -> None:
    bad = '[rows.bad]\nsettings = { network = "no_such_module:network" }\n[rows.full]'
    assert call(tmp_path, TINY.replace("[rows.full]", bad), "--columns", "two", "--rows", "bad", "full") == 1
    found = results(tmp_path / "out")
    assert (found["bad.two.seed-0"]["status"], found["full.two.seed-0"]["status"]) == ("failed", "completed")
    assert "no_such_module" in found["bad.two.seed-0"]["reason"]
    assert "failed: " in (tmp_path / "out" / "table.md").read_text()


@pytest.mark.slow
def test_ctrl_c_loses_no_round_and_a_second_process_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    process = started(tmp_path, "--rows", "full")
    assert call(tmp_path, LONG, "--columns", "two", "--rows", "full") == 2
    assert "is in use by process" in capsys.readouterr().err
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors.strip()) == (130, "pfedgp: Stopped.")
    run = tmp_path / "out" / "runs" / "full.two.seed-0"
    rounds = len((run / "metrics.jsonl").read_bytes().splitlines())
    assert not (tmp_path / "out" / "cells" / "full.two.seed-0.json").exists()
    assert [file.name for file in (run / "checkpoints").iterdir()]
    assert rounds >= 1


@pytest.mark.slow
def test_a_killed_experiment_goes_on_where_it_stopped(tmp_path: Path) -> None:
    process = started(tmp_path, "--rows", "full", "--budget", "0.05")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    assert call(tmp_path, LONG, "--columns", "two", "--rows", "full", "--budget", "0.05") == 0
    first = results(tmp_path / "out")["full.two.seed-0"]
    log = (tmp_path / "out" / "logs" / "full.two.seed-0.log").read_text()
    assert "round 1/" not in log.lower()
    other = tmp_path / "whole"
    other.mkdir()
    assert call(other, LONG, "--columns", "two", "--rows", "full", "--budget", "0.05") == 0
    assert "going on after round" in log
    whole = results(other / "out")["full.two.seed-0"]
    assert first["metrics"] == whole["metrics"]


def test_a_missing_data_root_is_told_before_anything_starts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = TINY.replace("clients = 5", 'clients = 5\ndataset = "cifar10"', 1)
    assert call(tmp_path, text, "--data-root", str(tmp_path / "none")) == 2
    assert "--data-root PATH" in capsys.readouterr().err
    assert not (tmp_path / "out" / "runs").exists()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), "needs a NAME"),
        (("no-such",), "Unknown experiment 'no-such'"),
        (("digits_methods", "--rows", "fedav"), "did you mean 'fedavg'?"),
        (("digits_methods", "--jobs", "0"), "--jobs '0' is not a positive integer"),
        (("digits_methods", "--collect", "--out", "no-such-folder"), "There is no folder"),
    ],
)
def test_mistakes_are_told_in_one_sentence(
    options: tuple[str, ...], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["experiment", *options]) == 2
    error = capsys.readouterr().err
    assert expected in error
    assert len(error.splitlines()) == 1


@pytest.mark.slow
def test_list_shows_the_experiments_and_what_one_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", "--list"]) == 0
    assert "table1_cifar10" in capsys.readouterr().out
    assert main(["experiment", "table1_cifar10", "--list", "--columns", "c500", "--seeds", "0"]) == 0
    shown = capsys.readouterr().out
    assert "grid: learning-rate = 0.1, 0.05, 0.01, 0.005" in shown
    table = Path(__file__).resolve().parents[3] / "experiments" / "paper" / "table1_cifar10.toml"
    rows = tomllib.loads(table.read_text(encoding="utf-8"))["rows"]
    assert f"\n{len(rows)} runs," in shown


@pytest.mark.slow
def test_list_counts_one_of_a_thing_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", "--list"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"\b1 (row|column|seed)[,)]", shown)
    assert not re.search(r"\b1 (rows|columns|seeds)\b", shown)


@pytest.mark.slow
def test_bounds_and_curves_are_written_with_the_tables(tmp_path: Path) -> None:
    text = """
curves = true
seeds = [0]
settings = { clients = 10, novel-clients = 2, rounds = 4, evaluate-every = 2, clients-per-round = 2 }
[columns.digits]
[rows.full]
[rows.bound]
of = "full"
bounds = { shares = [0.5, 1.0], delta = 0.05 }
"""
    assert call(tmp_path, text) == 0
    out = tmp_path / "out"
    points = results(out)["bound.digits.seed-0"]["points"]
    assert [point["client"] for point in points] == ["client-08"] * 2 + ["client-09"] * 2
    assert all(point["bounds"]["gibbs"] > point["errors"]["gibbs"] for point in points)
    page = (out / "table.md").read_text()
    assert "#### Bounds against errors" in page
    assert "4 rounds: accuracy, %" in page
    made = {file.name for file in out.iterdir()}
    assert {"bounds.csv", "bounds.svg", "bounds.png", "curves-digits.svg", "curves-digits.png"} <= made
    # The same call finds all done, and another delta is another experiment.
    assert call(tmp_path, text) == 0
    assert call(tmp_path, text.replace("0.05", "0.1")) == 2
