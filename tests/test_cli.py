"""The command line: quick, every mistake one sentence and the right exit code, nothing started before the checks."""

import os
import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from pfedgp import __version__
from pfedgp.cli import VERBS, main
from pfedgp_core.config import Settings, describe
from pfedgp_core.errors import ArtefactError, DataError, NumericalError, RunFailedError
from server.outputs import Outputs
from server.run.settings import dump_settings, read_settings_file


class Runs(list[tuple[Settings, Path, int | None]]):
    """Stands for ``pfedgp.local.simulation``; keeps what it was called with."""

    outcome: Any = None
    outputs: Outputs | None = None

    def run_simulation(
        self, settings: Settings, out_dir: Path, workers: int | None = None, outputs: Outputs | None = None
    ) -> dict[str, Any]:
        self.append((settings, out_dir, workers))
        self.outputs = outputs
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome or {"status": "completed"}


@pytest.fixture
def tracebacks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tracebacks")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tracebacks: Path) -> Runs:
    module, runs = types.ModuleType("pfedgp.local.simulation"), Runs()
    module.run_simulation = runs.run_simulation  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pfedgp.local.simulation", module)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tracebacks))
    monkeypatch.delenv("PFEDGP_DEBUG", raising=False)
    return runs


def complaint(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line on standard error."""
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("pfedgp: ") and err.count("\n") == 1 and "Traceback" not in err
    return err


def python(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *args], env=os.environ | env, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("argv", [["--help"], ["--version"], ["simulate", "--help"], ["settings", "--help"]])
def test_help_imports_nothing_heavy(argv: list[str]) -> None:
    done = python("-m", "pfedgp", *argv)
    assert done.returncode == 0 and done.stderr == ""
    code = "import sys; from pfedgp.cli import main\ntry: main(sys.argv[1:])\nexcept SystemExit: pass\n"
    heavy = python("-c", code + "print(*sys.modules, file=sys.stderr)", *argv).stderr.split()
    assert not {"torch", "numpy", "flwr", "ray", "matplotlib"} & set(heavy)


@pytest.mark.parametrize(
    "argv", [["check-data", "nowhere"], ["status"], ["stop", "x"], ["report", "x", "--out", "x.txt"]]
)
def test_mistakes_are_told_before_anything_slow_is_loaded(argv: list[str], tmp_path: Path) -> None:
    code = "import sys; from pfedgp.cli import main\ncode = main(sys.argv[1:])\nprint(*sys.modules); sys.exit(code)"
    done = python("-c", code, *argv, XDG_STATE_HOME=str(tmp_path))
    assert done.returncode == 2 and done.stderr.startswith("pfedgp: ")
    assert not {"torch", "flwr", "ray", "matplotlib", "sklearn"} & set(done.stdout.split())


def test_the_operators_view_of_a_deployment_needs_no_torch() -> None:
    code = (
        "import sys, pfedgp.operator.overview, pfedgp.operator.runs, pfedgp_core.data.own.reader; print(*sys.modules)"
    )
    assert "torch" not in python("-c", code).stdout.split()


def test_version_and_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"pfedgp {__version__}\n"
    assert main([]) == 0
    out = capsys.readouterr().out
    assert all(f"  {verb} " in out for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_each_help_has_an_example(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([verb, "--help"])
    assert f"example: pfedgp {verb}" in " ".join(capsys.readouterr().out.split())


def test_settings_lists_every_key(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["settings"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [key for key, _, _ in describe()]
    assert main(["settings", "--toml"]) == 0
    file = tmp_path / "s.toml"
    file.write_text(capsys.readouterr().out)
    assert Settings.from_run_config(read_settings_file(file)) == Settings()


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
    "unknown data set": (["simulate", "--dataset", "../x"], r"dataset = '../x' is not known; choose one of: digits"),
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
    assert runs == [] and {p.name for p in tmp_path.iterdir()} == {"taken", "used"}


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


@pytest.mark.parametrize(
    ("outcome", "code", "expected"),
    [
        (RunFailedError("No client answered: check them."), 1, "No client answered"),
        (NumericalError("Lost."), 1, "Lost"),
        (ArtefactError("Cannot write x (No space left on device): make room."), 1, "No space left"),
        (DataError("Damaged: load it again."), 2, "Damaged"),
        (KeyboardInterrupt(), 130, "Stopped"),
    ],
)
def test_exit_codes_of_a_run(
    outcome: BaseException, code: int, expected: str, runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    runs.outcome = outcome
    assert main(["simulate"]) == code
    assert expected in complaint(capsys)


def test_a_run_that_did_not_complete_is_no_success(runs: Runs) -> None:
    runs.outcome = {"status": "failed"}
    assert main(["simulate"]) == 1


def test_unexpected_errors_keep_their_traceback_in_a_file(
    runs: Runs, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tracebacks: Path
) -> None:
    runs.outcome = ZeroDivisionError("first\nsecond")
    assert main(["simulate"]) == 1
    found = re.search(r"Unexpected ZeroDivisionError: first second \(details in (.*)\)\.", complaint(capsys))
    assert found and Path(found[1]).parent == tracebacks
    assert "ZeroDivisionError: first\nsecond" in Path(found[1]).read_text()
    monkeypatch.setenv("PFEDGP_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main(["simulate"])


def test_a_closed_pipe_is_silent() -> None:
    code = "import sys; from pfedgp import cli\nfor _ in range(500): code = cli.main(['settings'])\nsys.exit(code)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        assert process.stdout.readline().startswith(b"setting ")
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) in (0, 141)


def test_operators_choose_where_results_go(runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('prometheus = "file.prom"\ntensorboard = "from-file"\nrounds = 3\n')
    assert main(["simulate", "--config", "a.toml", "--tensorboard", "tb", "--out", "run"]) == 0
    assert runs.outputs == Outputs("run", "tb", "file.prom")
    assert runs[0][0].rounds == 3 and runs[0][1] == tmp_path / "run"


def test_a_prometheus_file_must_not_be_a_folder(runs: Runs, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["simulate", "--prometheus", str(tmp_path)]) == 2
    assert "give the name of a file" in complaint(capsys) and not runs
