"""The limit of open files is raised where it may be, and named where it may not."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

RAISE = "from pfedgp.processes.limits import allow_files; allow_files({needed}, 'This test'); import resource; {then}"
SHOW = "print(*resource.getrlimit(resource.RLIMIT_NOFILE))"


def allowed(needed: int, soft: int, hard: int) -> "subprocess.CompletedProcess[str]":
    """Ask for so many files in a process with such limits."""
    return subprocess.run(
        [sys.executable, "-c", RAISE.format(needed=needed, then=SHOW)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("soft", "after"), [(64, "128 256"), (200, "200 256")])
def test_it_is_raised_as_far_as_needed(soft: int, after: str) -> None:
    assert allowed(128, soft, 256).stdout.strip() == after


def test_a_limit_that_cannot_be_raised_is_named_with_the_remedy() -> None:
    last = allowed(128, 64, 64).stderr.splitlines()[-1]
    assert "This test needs 128 open files, and this process may have 64: raise the limit with ulimit -n 128" in last


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ["simulate", "--workers", "1"],
        ["deploy-local"],
        ["server", "--certs", "certs"],
        ["client", "--insecure", "--superlink", "localhost:9092", "--partition-id", "0", "--num-partitions", "1"],
    ],
    ids=lambda command: command[0],
)
def test_each_program_checks_it_before_its_work(command: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", 'ulimit -n 64; exec "$@"', "bash", sys.executable, "-P", "-m", "pfedgp", *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "ulimit -n" in done.stderr
