"""The fuzzer of files: every reader holds a few inputs, and a reader that does not is told."""

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.fuzzing.parsers import PARSERS
from tests.test_imports import ROOT

SCRIPT = ROOT / "scripts" / "fuzz_files.py"
QUICK = sorted(set(PARSERS) - {"site", "site-tensors", "report"})


def fuzz(*arguments: str, script: Path = SCRIPT) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, str(script), *arguments], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_every_reader_holds(tmp_path: Path) -> None:
    done = fuzz("--count", "60", "--seed", "3", "--save", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(PARSERS)} of {len(PARSERS)} readers held" in done.stdout


@pytest.mark.parametrize("name", QUICK)
def test_whole_files_are_read(name: str, tmp_path: Path) -> None:
    trial = PARSERS[name](tmp_path)
    for content in trial.whole:
        trial.read(content)
