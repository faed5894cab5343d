"""``pfedgp sweep``: which candidates there are, that the best is chosen on validation data, resume, and mistakes."""

import csv
import json
from pathlib import Path

import pytest

from pfedgp.cli import main
from pfedgp.seeds.run import SeedRun
from pfedgp.sweeping import sweep
from pfedgp.sweeping.choices import Range, extremes, grid, listed, ranged
from pfedgp.sweeping.results import Tried, best_of, score_key, sweep_lines
from pfedgp.sweeping.sweep import folder_name
from tests.pfedgp.comparing.run_folders import write_run

RATES = {"0.02": 0.7, "0.05": 0.9, "0.1": 0.8}
OPTIONS = ["sweep", "--clients", "5", "--rounds", "1", "--over", "learning-rate=0.02,0.05,0.1"]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Runs that take no time: validation accuracy goes by the learning rate, and test accuracy the other way."""
    names: list[str] = []

    def run_all(waiting: list[SeedRun], together: int, workers: int) -> None:
        for run in waiting:
            names.append(run.called)
            validation = RATES.get(f"{run.settings.learning_rate:g}", 1 - abs(run.settings.learning_rate - 0.07))
            if run.settings.learning_rate != 0.123:
                flat = {"clients": 5, "rounds": 1, "seed": run.settings.seed}
                flat["learning-rate"] = run.settings.learning_rate  # type: ignore[assignment]
                write_run(run.path, [1 - validation], flat, validation_accuracy=validation)

    monkeypatch.setattr(sweep, "run_all", run_all)
    return names


def tried(rate: str, *validation: float, seeds: int = 1) -> Tried:
    made = tuple({"validation_accuracy": value, "accuracy": 1 - value} for value in validation)
    return Tried({"learning-rate": rate}, f"rate-{rate}", made, seeds)


def test_all_combinations_are_tried_the_last_setting_first() -> None:
    made = grid([listed("learning-rate=0.02,0.05"), listed("gp.sweeps=3,5")])
    assert [tuple(each.values()) for each in made] == [("0.02", "3"), ("0.02", "5"), ("0.05", "3"), ("0.05", "5")]


def test_a_choice_for_all_looks_at_the_smallest_values_and_each_other_one() -> None:
    over, ranges = [listed("rounds=60,20"), listed("variant=full,ip-data")], [ranged("clients-per-round=2:9")]
    least = {"rounds": "20", "variant": "full", "clients-per-round": "2"}
    others = [{"rounds": "60"}, {"variant": "ip-data"}, {"clients-per-round": "9"}]
    assert extremes(over, ranges) == [least, *(least | other for other in others)]


def test_it_looks_at_the_one_that_keeps_most_clients_out_of_the_training() -> None:
    over = [listed("unseen-clients=0,8"), listed("rounds=90,60"), listed("novel-clients=8,0")]
    assert extremes(over, [])[-1] == {"rounds": "60", "unseen-clients": "8", "novel-clients": "8"}


def test_the_best_is_chosen_on_validation_data_and_not_on_test_data() -> None:
    runs = [tried("0.1", 0.6), tried("0.2", 0.9), tried("0.3", 0.7)]
    assert best_of(runs, "validation_accuracy", larger=True) is runs[1]
    assert best_of(runs, "validation_accuracy", larger=False) is runs[0]
    lines = sweep_lines(runs, "validation_accuracy", larger=True)
    assert [line.split()[-1] for line in lines[1:4]] == [f"learning-rate={rate}" for rate in ("0.2", "0.3", "0.1")]
    assert "best on validation data: --set learning-rate=0.2" in lines


def test_a_candidate_with_a_failed_seed_is_never_the_best() -> None:
    runs = [tried("0.1", 0.6, 0.7, seeds=2), tried("0.2", 0.99, seeds=2)]
    assert best_of(runs, "validation_accuracy", larger=True) is runs[0]
    assert best_of([runs[1]], "validation_accuracy", larger=True) is None


def test_the_measure_and_its_direction_are_those_of_the_run() -> None:
    assert score_key({"accuracy": 0.4, "validation_accuracy": 0.5}) == ("validation_accuracy", True)
    assert score_key({"validation_rmse": 0.5}) == ("validation_rmse", False)


def test_a_sweep_writes_its_tables_and_goes_on_with_what_is_missing(
    tmp_path: Path, started: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main([*OPTIONS, "--seeds", "0", "1", "--out", str(out)]) == 0
    assert len(started) == 6
    rows = {row["learning-rate"]: row for row in csv.DictReader((out / "sweep.csv").open())}
    assert float(rows["0.05"]["validation_accuracy"]) == pytest.approx(0.9)
    assert float(rows["0.05"]["test_accuracy"]) == pytest.approx(0.1)
    assert json.loads((out / "sweep.json").read_text())["best"] == {"learning-rate": "0.05"}
    assert "best on validation data: --set learning-rate=0.05" in capsys.readouterr().out
    started.clear()
    more = [*OPTIONS[:-1], "learning-rate=0.02,0.3,0.1"]
    assert main([*more, "--seeds", "0", "1", "--out", str(out)]) == 0
    assert started == ["learning-rate=0.3/seed-0", "learning-rate=0.3/seed-1"]


def test_a_failed_run_is_named_and_the_others_count(
    tmp_path: Path, started: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = [*OPTIONS[:-1], "learning-rate=0.02,0.123", "--out", str(tmp_path / "out")]
    assert main(command) == 1
    out, err = capsys.readouterr()
    assert "1 of 2 candidates have runs that failed" in err
    assert "learning-rate=0.123" in err
    assert "best on validation data: --set learning-rate=0.02" in out


def test_a_search_is_repeated_by_its_seed_and_finds_the_optimum(tmp_path: Path, started: list[str]) -> None:
    pytest.importorskip("optuna")
    whole = [*OPTIONS[:-2], "--range", "learning-rate=0.001:1:log", "--trials", "12", "--out", str(tmp_path / "out")]
    assert main(whole) == 0
    assert len(started) == 12
    best = json.loads((tmp_path / "out" / "sweep.json").read_text())["best"]
    assert abs(float(best["learning-rate"]) - 0.07) < 0.05
    first = list(started)
    started.clear()
    assert main([*whole[:-3], "14", *whole[-2:]]) == 0
    assert len(started) == 2
    assert not {*started} & {*first}


def test_names_of_folders_tell_candidates_apart() -> None:
    assert folder_name({"learning-rate": "0.05"}) == "learning-rate=0.05"
    odd = {"class-names": "a/b"}, {"class-names": "a_b"}
    assert len({folder_name(each) for each in odd}) == 2
    assert all("/" not in folder_name(each) for each in odd)


def test_ranges() -> None:
    assert ranged("learning-rate=0.001:0.2:log") == Range("learning-rate", 0.001, 0.2, whole=False, log=True)
    assert ranged("gp.sweeps=1:9") == Range("gp.sweeps", 1.0, 9.0, whole=True, log=False)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([], "nothing to try"),
        (["--over", "learning-rate"], "give a setting and its values"),
        (["--over", "learning-rate=0.1,0.10"], "a value twice"),
        (["--over", "learning-rat=0.1,0.2"], "learning-rat"),
        (["--over", "learning-rate=0.1,fast"], "is not a number"),
        (["--over", "seed=1,2"], "give --seeds"),
        (["--over", "gp.sweeps=1,2", "--over", "gp.sweeps=3,4"], "given twice"),
        (["--over", "best-classes=all,own"], "numbers would be over different classes"),
        (["--over", "learning-rate=0.1,-2"], "learning-rate = -2"),
        (["--range", "learning-rate=0.1:0.2"], "needs --trials"),
        (["--range", "learning-rate=0.2:0.1", "--trials", "3"], "no two numbers"),
        (["--range", "learning-rate=0:0.1:log", "--trials", "3"], "above 0"),
        (["--range", "dataset=a:b", "--trials", "3"], "no two numbers"),
        (["--over", "gp.sweeps=1,2", "--trials", "0"], "--trials"),
        (["--over", "gp.sweeps=1,2", "--seeds", "1", "1"], "each seed once"),
        (["--over", f"gp.sweeps={','.join(map(str, range(1, 1003)))}"], "more than 1,000"),
    ],
)
def test_mistakes(more: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", *more, "--out", str(tmp_path / "out")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_run_of_a_sweep_is_the_run_of_its_settings(tmp_path: Path) -> None:
    options = ["--clients", "5", "--rounds", "1", "--workers", "1"]
    assert main(["sweep", *options, "--over", "gp.sweeps=3,4", "--out", str(tmp_path / "all")]) == 0
    assert main(["simulate", *options, "--set", "gp.sweeps=4", "--out", str(tmp_path / "one")]) == 0
    one, whole = tmp_path / "one/clients.csv", tmp_path / "all/gp.sweeps=4/seed-0/clients.csv"
    assert whole.read_bytes() == one.read_bytes()
