"""scripts/guarded/harness.py: a case passes, fails or is late, and the exit code says so."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.deploy.program import is_alive, wait_for

HARNESS = Path(__file__).parents[2] / "scripts/guarded"
SCRIPT = """
import subprocess, sys, time
sys.path.insert(0, {harness!r})
from harness import case, main

@case("the sum is right")
def right(folder):
    (folder / "file").write_text("kept apart")
    return f"{{1 + 1}} of 2"

@case("the sum is wrong")
def wrong(folder):
    assert 1 + 1 == 3, "one and one are two"

@case("it ends in time", seconds=1.0)
def late(folder):
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    print(subprocess.Popen(sleep).pid, subprocess.Popen(sleep, start_new_session=True).pid, flush=True)
    time.sleep(600)

if __name__ == "__main__":
    raise SystemExit(main())
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "section.py"
    path.write_text(SCRIPT.format(harness=str(HARNESS)), encoding="utf-8")
    return path


@pytest.fixture
def sections(tmp_path: Path) -> Path:
    """A folder with the harness and no section."""
    folder = tmp_path / "guarded"
    folder.mkdir()
    for name in ("harness.py", "__main__.py"):
        shutil.copy(HARNESS / name, folder)
    return folder


def run(script: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(script), *words]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)


def test_a_case_that_passes_says_what_it_measured(script: Path) -> None:
    ended = run(script, "sum is right")
    assert ended.returncode == 0, ended.stdout
    assert ended.stdout.splitlines()[0].startswith("pass")
    assert ended.stdout.splitlines()[0].endswith("the sum is right: 2 of 2")


def test_a_case_that_fails_shows_why(script: Path) -> None:
    ended = run(script, "wrong", "right")
    assert ended.returncode == 1
    assert "FAIL" in ended.stdout
    assert "one and one are two" in ended.stdout
    assert "1 of 2 cases pass" in ended.stdout


@pytest.mark.slow
def test_a_case_that_is_late_is_ended_with_all_that_it_started(script: Path) -> None:
    ended = run(script, "in time")
    assert ended.returncode == 1
    assert "not within 1 s" in ended.stdout
    pids = [int(word) for word in ended.stdout.splitlines()[2].split()]
    assert len(pids) == 2
    wait_for(lambda: not any(map(is_alive, pids)), 5.0, "the end of the case's children")


@pytest.mark.slow
def test_cases_side_by_side_are_as_many_and_told_one_by_one(script: Path, sections: Path) -> None:
    text = script.read_text(encoding="utf-8").replace(str(HARNESS), str(sections))
    for name in ("one", "two"):
        (sections / f"{name}.py").write_text(text.replace('"the sum is right"', f'"the sum of {name} is right"'))
    tested = text.replace(
        '@case("the sum is right")', '@case("the sum of three is right", tests=["tests/test_sum.py"])'
    )
    (sections / "three.py").write_text(tested)
    ended = run(sections, "--jobs", "2", "--untested", "right", "wrong")
    assert ended.returncode == 1, ended.stdout
    lines = [line.split(" s  ")[1] for line in ended.stdout.splitlines() if line.startswith(("pass", "FAIL"))]
    assert sorted(lines) == [
        *("one: the sum is wrong", "one: the sum of one is right: 2 of 2", "three: the sum is wrong"),
        *("two: the sum is wrong", "two: the sum of two is right: 2 of 2"),
    ]
    assert ended.stdout.count("AssertionError: one and one are two") == 3
    assert "2 of 5 cases pass" in ended.stdout
    assert run(sections, "sum of three").returncode == 0
    assert run(sections, "nothing like this").returncode == 5


def test_words_that_name_no_case_are_told_by_the_exit_code(script: Path) -> None:
    assert run(script, "nothing like this").returncode == 5


def test_cases_that_would_end_too_late_are_left_out_by_name_and_a_failure_stays_one(
    script: Path, sections: Path
) -> None:
    text = script.read_text(encoding="utf-8").replace(str(HARNESS), str(sections))
    (sections / "one.py").write_text(text.replace("is right", "is right, they say", 1).replace("1.0", "1e6"))
    ended = run(sections, "--until", str(time.time() + 3600.0))
    lines = ended.stdout.splitlines()
    assert ended.returncode == 1, ended.stdout
    assert lines[0].startswith("pass")
    assert "FAIL" in lines[1]
    assert "left          one: it ends in time: no time left on this machine" in lines
    assert lines[-2:] == ["1 of 3 cases pass", "left out for time: 1"]
