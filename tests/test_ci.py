"""What .ci/run runs: every check once, parts side by side whose lines and failures are told apart."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.program import is_alive
from tests.waiting import wait_for

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
LEFT_OUT = re.findall(r"--ignore=(\S+)", SCRIPT)
SIDE_BY_SIDE = ROOT / ".ci" / "side_by_side.py"


def test_it_runs_the_checks() -> None:
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111
    makes = re.findall(r"\bmake [a-z-]+", re.sub(r"#.*", "", SCRIPT))
    assert makes == ["make lint", "make test-all", "make guarded", "make compose-test"]


def test_each_trial_of_a_bad_day_is_run_once_and_none_is_left_out() -> None:
    assert LEFT_OUT == ["tests/deploy/test_bad_days.py"]
    trials, guarded = (
        set(re.findall(r"\bbad_days\.(\w+)\(", (ROOT / file).read_text(encoding="utf-8")))
        for file in (LEFT_OUT[0], "scripts/guarded/environment.py")
    )
    assert trials
    assert trials <= guarded


def test_cases_that_are_left_out_as_tests_are_tests_that_are_run() -> None:
    """Cases of scripts/guarded name tests that try the same, and .ci/run leaves these cases out."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "scripts" / "guarded").glob("*.py")]
    named = [name for text in texts for name in re.findall(r'"(tests/[^"]+)"', text)]
    assert len(named) > 10
    for name in named:
        path, _, function = name.partition("::")
        assert (ROOT / path).exists(), name
        assert not any(path.startswith(left) for left in LEFT_OUT), name
        if function:
            assert f"def {function}(" in (ROOT / path).read_text(encoding="utf-8"), name


def side_by_side(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SIDE_BY_SIDE), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_lines_are_marked_and_all_parts_run() -> None:
    done = side_by_side("one=echo first; echo second >&2", "three=echo third")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert {"one   | first", "one   | second", "three | third"} < set(lines)
    assert {line.split(" after ")[0] for line in lines if " ended " in line} == {
        "one   | ended with 0",
        "three | ended with 0",
    }


def test_a_part_says_that_it_has_ended_while_another_runs(tmp_path: Path) -> None:
    waits = f"one=until [ -e {tmp_path}/go ]; do sleep 0.1; done"
    with subprocess.Popen([sys.executable, SIDE_BY_SIDE, waits, "two=true"], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline().startswith("two | ended with 0")
        (tmp_path / "go").touch()
        assert run.wait(60) == 0


@pytest.mark.parametrize("failing", ["one", "two"])
def test_a_part_that_fails_is_named_and_the_other_runs_to_its_end(failing: str) -> None:
    parts = {"one": "sleep 0.5; echo whole", "two": "sleep 0.5; echo whole"} | {failing: "echo broken; exit 7"}
    done = side_by_side(*(f"{name}={command}" for name, command in parts.items()))
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == f"FAILED: {failing} (exit code 7)"
    assert done.stdout.count("whole") == 1


def test_both_failures_are_named() -> None:
    done = side_by_side("one=exit 1", "two=exit 2")
    assert done.stdout.splitlines()[-2:] == ["FAILED: one (exit code 1)", "FAILED: two (exit code 2)"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nothing_outlives_its_interruption(number: signal.Signals) -> None:
    command = [sys.executable, str(SIDE_BY_SIDE), "one=sleep 600 & echo $!; wait", "two=echo $$; exec sleep 600"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pids = [int(process.stdout.readline().split("| ")[1]) for _ in range(2)]
        process.send_signal(number)
        process.wait(60)
    assert process.returncode != 0
    wait_for(lambda: not any(map(is_alive, pids)), 10.0, "the end of both")
