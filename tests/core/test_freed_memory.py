"""Freed memory stays with a process that trains, up to a bound."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pfedgp_core.freed_memory import KEPT, LARGEST_BLOCK, keep_freed_memory, large_pages

# Resident bytes that a process has more after it has taken and freed blocks.
LEFT = """
import resource
import numpy as np
{before}
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
start = resident()
blocks = [np.ones({size}, np.uint8) for _ in range({count})]
del blocks
print(resident() - start)
"""
KEEP = "from pfedgp_core.freed_memory import keep_freed_memory; keep_freed_memory()"


def left(before: str, size: int, count: int) -> int:
    script = LEFT.format(before=before, size=size, count=count)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.fixture(autouse=True)
def gnu() -> None:
    if not keep_freed_memory():
        pytest.skip("the C library has no such setting")


@pytest.mark.slow
@pytest.mark.parametrize("before", [KEEP, "import client.client_app"])
def test_what_is_freed_stays(before: str) -> None:
    size = LARGEST_BLOCK // 2
    count = KEPT // size * 3 // 4
    assert left(before, size, count) > 0.9 * size * count


def test_no_more_stays_than_the_bound() -> None:
    size = LARGEST_BLOCK // 2
    assert left(KEEP, size, KEPT // size * 3) < 1.1 * KEPT


def test_a_block_above_the_limit_goes_back_at_once() -> None:
    assert left(KEEP, 2 * LARGEST_BLOCK, 2) < LARGEST_BLOCK


@pytest.mark.parametrize(
    ("told", "becomes"),
    [
        (None, "glibc.malloc.hugetlb=1"),
        ("", "glibc.malloc.hugetlb=1"),
        ("glibc.malloc.perturb=3", "glibc.malloc.perturb=3:glibc.malloc.hugetlb=1"),
        ("glibc.malloc.hugetlb=0", "glibc.malloc.hugetlb=0"),
    ],
)
def test_large_pages_leave_what_a_user_has_said(told: str | None, becomes: str) -> None:
    assert large_pages({} if told is None else {"GLIBC_TUNABLES": told}) == {"GLIBC_TUNABLES": becomes}


FAULTS = """
import resource
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
before = faults()
block = bytes(64 * 2**20)
print(faults() - before)
"""


def test_a_large_block_of_python_takes_few_faults() -> None:
    enabled = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not enabled.exists() or "[never]" in enabled.read_text():
        pytest.skip("the system gives no large pages")
    environment = os.environ | large_pages({})
    done = subprocess.run([sys.executable, "-c", FAULTS], env=environment, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 64 * 2**20 // 4096 // 4
