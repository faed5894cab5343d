"""What .ci/run runs: every check, and every case once."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
LEFT_OUT = re.findall(r"--ignore=(\S+)", SCRIPT)


def test_it_runs_the_checks() -> None:
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111
    makes = re.findall(r"\bmake [a-z-]+", re.sub(r"#.*", "", SCRIPT))
    assert makes == ["make lint", "make test-all", "make guarded", "make compose-test"]


def test_a_slow_machine_leaves_out_what_would_begin_too_late() -> None:
    assert "PFEDGP_BEGIN_UNTIL=$slow_until timed make test-all" in SCRIPT
    assert "--until $guarded_until" in SCRIPT
    assert "INCOMPLETE" in SCRIPT
    (late,) = re.findall(r'late="([^"]+)"', SCRIPT)  # by which it knows that something was left out
    for file in ("tests/conftest.py", "scripts/guarded/harness.py"):
        assert late in (ROOT / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("patience", ["0.5", "-1", "ten", "08"])
def test_patience_is_a_whole_number(patience: str) -> None:
    ended = subprocess.run(
        [str(ROOT / ".ci" / "run")],
        env=os.environ | {"PFEDGP_CI_PATIENCE": patience},
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 2
    assert ended.stderr == f"PFEDGP_CI_PATIENCE is a whole number, not {patience}\n"


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


@pytest.mark.slow
@pytest.mark.parametrize("begun", ["too late", "in time"])
def test_a_slow_test_that_would_begin_too_late_is_skipped_with_the_reason(begun: str, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_runtest_setup\n", encoding="utf-8")
    (tmp_path / "test_it.py").write_text(
        "import pytest\n\n@pytest.mark.slow\ndef test_slow(): pass\n\ndef test_fast(): pass\n", encoding="utf-8"
    )
    until = time.time() + (-1 if begun == "too late" else 600)
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-rs", "-q", "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=tmp_path,
        env=os.environ | {"PFEDGP_BEGIN_UNTIL": str(until), "PYTHONPATH": str(ROOT)},
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ("1 passed, 1 skipped" if begun == "too late" else "2 passed") in ended.stdout
    assert ("no time left on this machine" in ended.stdout) == (begun == "too late")
