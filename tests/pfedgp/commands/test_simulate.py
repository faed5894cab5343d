"""``pfedgp simulate``: which settings win, where the run lies, and mistakes in one sentence."""

import re
from pathlib import Path

import pytest

from pfedgp.cli import main
from pfedgp_core.config import Settings
from server.outputs import Outputs
from server.run.settings import dump_settings
from tests.pfedgp.recorded_runs import Runs, complaint


def test_precedence_defaults_file_options_set(runs: Runs, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('rounds = 10\nclients = 10\nseed = 1\nout = "unused"\n[gp]\nsweeps = 3\njitter = 1\n')
    argv = [
        "simulate",
        "--config",
        str(file),
        "--rounds",
        "20",
        "--seed",
        "2",
        "--set",
        "seed=3",
        "--set",
        "gp.sweeps=4",
    ]
    assert main([*argv, "--out", "here", "--workers", "2"]) == 0
    settings, folder, workers = runs[0]
    assert settings == Settings.from_run_config(
        {"rounds": 20, "clients": 10, "seed": 3, "gp.sweeps": 4, "gp.jitter": 1.0}
    )
    assert (folder, workers) == (tmp_path / "here", 2)


def test_folder_of_a_run(runs: Runs, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('out = "from-file"')
    assert main(["simulate", "--config", str(file)]) == 0
    assert main(["simulate"]) == 0
    assert runs[0][1] == tmp_path / "from-file"
    assert runs[1][1].parent == tmp_path / "out"
    assert re.fullmatch(r"digits-full-\d{8}-\d{6}", runs[1][1].name)
    assert not (tmp_path / "out").exists()
    runs[1][1].mkdir(parents=True)


def test_a_runs_own_config_repeats_it(runs: Runs, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(dump_settings(Settings(rounds=3, clients_per_round=2)))
    assert main(["simulate", "--config", str(file)]) == 0
    assert runs[0][0] == Settings(rounds=3, clients_per_round=2)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "Prior mean: a softmax head that the clients share, as the run has 300 visits of clients (60 rounds x 5)"),
        (["--seed", "3"], "Prior mean: a softmax head that the clients share"),
        (["--rounds", "20"], "Prior mean: zero, as the run has 100 visits of clients (20 rounds x 5)"),
        (["--preset", "zero-mean"], ""),
        (["--method", "fedavg"], ""),
    ],
)
def test_one_line_says_which_prior_mean_was_taken(
    options: list[str], said: str, runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", *options]) == 0
    out = capsys.readouterr().out
    assert out.startswith(said)
    assert out.count("\n") == bool(said)
    assert runs[0][0].gp.prior_mean == ("head" if "softmax" in said else "zero")


MISTAKES = {
    "unknown verb": (["simulat"], r"Unknown verb 'simulat': did you mean 'simulate'\?"),
    "unknown option": (["simulate", "--client", "5"], r"--client 5: did you mean --clients\?"),
    "option without value": (["simulate", "--rounds"], r"expected one argument: see pfedgp simulate --help"),
    "stray argument": (["simulate", "digits"], r"arguments: digits: see pfedgp simulate --help"),
    "word for a number": (["simulate", "--rounds", "many"], r"rounds = 'many' is not an integer"),
    "out of range": (["simulate", "--seed", "-1"], r"seed = -1 is out of range; give a value from 0"),
    "unknown setting": (["simulate", "--set", "gp.kernl=rbf"], r"Unknown setting 'gp.kernl': did you mean 'gp.kernel'"),
    "no equals sign": (["simulate", "--set", "rounds"], r"'rounds' is not of the form key=value"),
    "nan": (["simulate", "--set", "learning-rate=nan"], r"learning-rate = nan is out of range"),
    "unknown variant": (["simulate", "--variant", "x"], r"variant = 'x' is not known; choose one of: full"),
    "unknown data set": (["simulate", "--dataset", "x"], r"dataset = 'x' is not known; choose one of: digits"),
    "no data at a path": (["simulate", "--dataset", "../x"], r"There is nothing at --dataset \.\./x"),
    "partition": (
        ["simulate", "--clients", "7"],
        r"clients = 7 with classes-per-client = 2 cannot .* use clients = 5 or 10",
    ),
    "too many classes": (
        ["simulate", "--classes-per-client", "11"],
        r"classes-per-client = 11 is more than the 10 classes",
    ),
    "unknown network": (["simulate", "--network", "nope"], r"nope"),
    "no data": (["simulate", "--dataset", "cifar10", "--data-root", "nowhere"], r"nowhere"),
    "workers": (["simulate", "--workers", "0"], r"--workers '0' is not a positive integer"),
    "no settings file": (
        ["simulate", "--config", "none.toml"],
        r"Cannot read the settings file none.toml .*No such file",
    ),
    "folder is a file": (["simulate", "--out", "taken"], r"taken is a file: give a folder"),
    "folder below a file": (["simulate", "--out", "taken/run"], r"Cannot write .*taken/run \(Not a directory\)"),
    "folder in use": (["simulate", "--out", "used"], r"used already holds a run: give another one with --out"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_one_sentence_and_code_2(
    name: str, runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").touch()
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "config.toml").touch()
    argv, expected = MISTAKES[name]
    assert main(argv) == 2
    assert re.search(expected, complaint(capsys))
    assert runs == []
    assert {p.name for p in tmp_path.iterdir()} == {"taken", "used"}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"rounds = ", "not valid TOML"),
        (b"\xff\xfe", "not UTF-8"),
        (b"rounds = [1]", r"rounds = \[1\] is not an integer"),
        (b"round = 1", "did you mean 'rounds'"),
        (b"out = 3", "out = 3 is not a text"),
        (b"rounds = true", "rounds = True is not an integer"),
    ],
)
def test_bad_settings_files(
    content: bytes, expected: str, runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "f.toml").write_bytes(content)
    assert main(["simulate", "--config", "f.toml"]) == 2
    assert re.search(expected, complaint(capsys))


def test_operators_choose_where_results_go(runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('prometheus = "file.prom"\ntensorboard = "from-file"\nrounds = 3\n')
    assert main(["simulate", "--config", "a.toml", "--tensorboard", "tb", "--out", "run"]) == 0
    assert runs.outputs == Outputs("run", "tb", "file.prom")
    assert runs[0][0].rounds == 3
    assert runs[0][1] == tmp_path / "run"


def test_a_prometheus_file_must_not_be_a_folder(runs: Runs, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["simulate", "--prometheus", str(tmp_path)]) == 2
    assert "give the name of a file" in complaint(capsys)
    assert not runs
