"""The fuzzer of files: every reader holds a few inputs, and a reader that does not is told."""

import random
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from pfedgp_core.errors import PFedGPError
from pfedgp_core.policy import ledger, site_policy
from scripts.fuzzing.governed_readers import GOVERNED_READERS
from scripts.fuzzing.parsers import PARSERS
from scripts.fuzzing.trial import Trial
from tests.test_imports import ROOT

SCRIPT = ROOT / "scripts" / "fuzz_files.py"
QUICK = sorted(set(PARSERS) - {"site", "site-tensors", "samples", "report"})


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


def tried(trial: Trial, count: int, seed: str = "") -> None:
    """Read changed inputs; anything but success and a named error is raised."""
    for i in range(count):
        rng = random.Random(f"{seed} {i}")
        content = rng.choice(trial.changes)(rng, rng.choice(trial.whole))
        with suppress(PFedGPError):
            trial.read(content)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*GOVERNED_READERS, "watch"}))
def test_what_a_site_decides_is_read_as_it_stands_or_refused(name: str, tmp_path: Path) -> None:
    tried(PARSERS[name](tmp_path), 200, name)


def test_a_policy_that_is_read_milder_than_it_stands_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mild = site_policy.SitePolicy(runs="any")
    monkeypatch.setattr(site_policy, "read_policy", lambda _: mild)
    trial = PARSERS["policy"](tmp_path)
    with pytest.raises(ValueError, match="not what the file says"):
        trial.read(trial.whole[1])


def test_a_ledger_that_forgets_what_left_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = PARSERS["ledger"](tmp_path)
    monkeypatch.setattr(ledger.Ledger, "read", classmethod(lambda cls, _: cls(tmp_path)))
    with pytest.raises(ValueError, match="not what the file says"):
        trial.read(trial.whole[0])
