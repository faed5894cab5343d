"""Freed memory stays with a process that trains, up to a bound."""

import subprocess
import sys

import pytest

from pfedgp_core.freed_memory import KEPT, LARGEST_BLOCK, keep_freed_memory

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
