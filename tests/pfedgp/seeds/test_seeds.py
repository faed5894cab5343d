"""``pfedgp simulate --seeds``: the numbers of single runs, their mean and deviation, and what is refused."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pfedgp.cli import main
from pfedgp.seeds.summary import seed_lines, seed_results
from tests.pfedgp.comparing.run_folders import write_run
from tests.waiting import wait_for

OPTIONS = ["--clients", "5", "--rounds", "1", "--workers", "2"]


@pytest.mark.slow
def test_each_seed_has_the_numbers_of_its_own_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = ["simulate", *OPTIONS, "--seeds", "3", "4", "--out", str(tmp_path / "both")]
    assert main(whole) == 0
    assert main(["simulate", *OPTIONS, "--seed", "4", "--out", str(tmp_path / "one")]) == 0
    assert (tmp_path / "both/seed-4/clients.csv").read_bytes() == (tmp_path / "one/clients.csv").read_bytes()
    kept = json.loads((tmp_path / "both/seeds.json").read_text())
    accuracies = [json.loads((tmp_path / f"both/seed-{n}/summary.json").read_text())["accuracy"] for n in kept["seeds"]]
    assert kept["seeds"] == [3, 4]
    assert kept["results"]["accuracy"] == {
        "mean": pytest.approx(np.mean(accuracies)),
        "sd": pytest.approx(np.std(accuracies, ddof=1)),
        "values": accuracies,
    }
    capsys.readouterr()
    assert main([*whole[:-2], "5", *whole[-2:]]) == 0
    said = capsys.readouterr().out
    assert [line for line in said.splitlines() if line.endswith("started")] == ["seed-5: started"]


@pytest.mark.slow
def test_the_same_command_goes_on_after_it_was_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    rounds = ["--clients", "5", "--rounds", "3", "--workers", "2", "--seeds", "0", "1", "--out", str(out)]
    process = subprocess.Popen([sys.executable, "-P", "-m", "pfedgp", "simulate", *rounds])
    wait_for(lambda: all((out / f"seed-{n}" / "metrics.jsonl").exists() for n in (0, 1)), 300, "a first round")
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 143
    assert not (out / "seeds.json").exists()
    assert main(["simulate", *rounds]) == 0
    assert main(["simulate", "--clients", "5", "--rounds", "3", "--workers", "2", "--out", str(tmp_path / "one")]) == 0
    assert (out / "seed-0/clients.csv").read_bytes() == (tmp_path / "one/clients.csv").read_bytes()


def test_mean_and_deviation_of_what_all_seeds_have() -> None:
    summaries = [{"accuracy": 0.5, "nll": 1.0, "rounds": 3}, {"accuracy": 0.75, "nll": None, "rounds": 3}]
    results = seed_results(summaries)
    assert list(results) == ["accuracy"]
    assert results["accuracy"]["mean"] == 0.625
    assert results["accuracy"]["sd"] == pytest.approx(np.std([0.5, 0.75], ddof=1))
    lines = seed_lines([0, 1], results)
    assert lines[1].split("  ") == ["accuracy", "62.5 %", "17.7 points", "50.0 %", "75.0 %"]


def test_a_folder_with_another_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path / "out" / "seed-1", [0.5], {"seed": 1, "rounds": 7})
    assert main(["simulate", *OPTIONS, "--seeds", "0", "1", "--out", str(tmp_path / "out")]) == 2
    assert "holds a run of other settings" in capsys.readouterr().err
    assert not (tmp_path / "out" / "seed-0").exists()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--seeds", "1"], "give two or more"),
        (["--seeds", "1", "1"], "each once"),
        (["--seeds", "1", "-2"], "seed = -2"),
        (["--seeds", "1", "2", "--seed", "3"], "exclude each other"),
        (["--seeds", "1", "2", "--prometheus", "p.txt"], "leave out --gpus"),
        (["--seeds", "1", "2", "--engine", "ray"], "leave out --gpus"),
        (["--seeds", "1", "2", "--clients", "6"], "cannot hold each"),
    ],
)
def test_mistakes(more: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", *more, "--out", str(tmp_path / "out")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_failed_run_is_named_with_its_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pfedgp.seeds.simulation.check_simulation", lambda *_: None)
    assert main(["simulate", "--clients", "6", "--seeds", "0", "1", "--out", str(tmp_path / "out")]) == 1
    out, err = capsys.readouterr()
    assert "seed-1: failed" in out
    assert "2 of 2 runs failed" in err
    assert "cannot hold each" in (tmp_path / "out" / "seed-0.log").read_text()
