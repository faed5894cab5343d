"""The command line: light imports, help and version, exit codes, unexpected errors."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pfedgp import __version__
from pfedgp.cli import main
from pfedgp.verbs import VERBS
from pfedgp_core.errors import (
    ArtefactError,
    DamagedStateError,
    DataError,
    NumericalError,
    RunFailedError,
    UnreadableFileError,
)
from tests.pfedgp.recorded_runs import Runs, complaint


def python(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *args], env=os.environ | env, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("argv", [["--help"], ["--version"], ["simulate", "--help"], ["settings", "--help"]])
def test_help_imports_nothing_heavy(argv: list[str]) -> None:
    done = python("-m", "pfedgp", *argv)
    assert done.returncode == 0
    assert done.stderr == ""
    code = "import sys; from pfedgp.cli import main\ntry: main(sys.argv[1:])\nexcept SystemExit: pass\n"
    heavy = python("-c", code + "print(*sys.modules, file=sys.stderr)", *argv).stderr.split()
    assert not {"torch", "numpy", "flwr", "psutil", "ray", "matplotlib"} & set(heavy)


@pytest.mark.parametrize(
    "argv", [["check-data", "nowhere"], ["status"], ["stop", "x"], ["report", "x", "--out", "x.txt"]]
)
def test_mistakes_are_told_before_anything_slow_is_loaded(argv: list[str], tmp_path: Path) -> None:
    code = "import sys; from pfedgp.cli import main\ncode = main(sys.argv[1:])\nprint(*sys.modules); sys.exit(code)"
    done = python("-c", code, *argv, XDG_STATE_HOME=str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.startswith("pfedgp: ")
    assert not {"torch", "flwr", "psutil", "ray", "matplotlib", "sklearn"} & set(done.stdout.split())


@pytest.mark.slow
def test_the_operators_view_of_a_deployment_needs_no_torch() -> None:
    code = (
        "import sys, pfedgp.operator.overview, pfedgp.operator.runs, pfedgp_core.data.own.reader; print(*sys.modules)"
    )
    assert "torch" not in python("-c", code).stdout.split()


@pytest.mark.parametrize(
    ("option", "hint"), [("--out", "see pfedgp export --help."), ("--onx", "did you mean --onnx?")]
)
def test_an_option_that_there_is_not_is_named_before_those_that_lack(
    option: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "--site", "ward", option, "w.onnx"]) == 2
    said = f"Unrecognized arguments: {option}; the following arguments are required: --onnx: {hint}"
    assert said in capsys.readouterr().err


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


@pytest.mark.parametrize(
    ("outcome", "code", "expected"),
    [
        (RunFailedError("No client answered: check them."), 1, "No client answered"),
        (DamagedStateError("round-000007 is damaged: restore it."), 1, "round-000007 is damaged"),
        (UnreadableFileError(Path("a.npz"), "it is a pipe"), 2, "a.npz cannot be read (it is a pipe)"),
        (
            PermissionError(13, "Permission denied", "/closed"),
            2,
            "/closed cannot be used (Permission denied)",
        ),
        (RuntimeError("Could not determine home directory."), 2, "give the whole path"),
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
    assert main(["simulate", "--preset", "zero-mean"]) == code
    assert expected in complaint(capsys)


def test_a_run_that_did_not_complete_is_no_success(runs: Runs) -> None:
    runs.outcome = {"status": "failed"}
    assert main(["simulate", "--preset", "zero-mean"]) == 1


def test_unexpected_errors_keep_their_traceback_in_a_file(
    runs: Runs, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tracebacks: Path
) -> None:
    runs.outcome = ZeroDivisionError("first\nsecond")
    assert main(["simulate", "--preset", "zero-mean"]) == 1
    found = re.search(r"Unexpected ZeroDivisionError: first second \(details in (.*)\)\.", complaint(capsys))
    assert found
    assert Path(found[1]).parent == tracebacks
    assert "ZeroDivisionError: first\nsecond" in Path(found[1]).read_text()
    monkeypatch.setenv("PFEDGP_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main(["simulate", "--preset", "zero-mean"])


@pytest.mark.slow
def test_a_closed_pipe_is_silent() -> None:
    code = "import sys; from pfedgp import cli\nfor _ in range(500): code = cli.main(['settings'])\nsys.exit(code)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline().startswith(b"setting ")
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) in (0, 141)
