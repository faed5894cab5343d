"""What running processes cost, from Linux's ``/proc``: CPU seconds and memory of one and of all below it."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

__all__ = ["below", "cpu_seconds_of", "megabytes_of"]

_TICKS = os.sysconf("SC_CLK_TCK")
_MB = 1e6


def below(root: int) -> list[int]:
    """Process ids of a process and of all that it and its children have started and that still run."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and (fields := _stat(int(folder.name))):
            parents.setdefault(int(fields[1]), []).append(int(folder.name))
    found, waiting = [], [root]
    while waiting:
        found.append(process := waiting.pop())
        waiting += parents.get(process, [])
    return found


def cpu_seconds_of(processes: Iterable[int]) -> float:
    """CPU seconds that processes have used so far, with those of their children that have ended."""
    # utime, stime and, of children that were waited for, cutime and cstime
    return sum(sum(map(int, fields[11:15])) for p in processes if (fields := _stat(p))) / _TICKS


def megabytes_of(processes: Iterable[int]) -> float:
    """Memory of processes in MB of 1e6 bytes; what several share is divided among them."""
    total = 0
    for process in processes:
        with suppress(OSError):
            for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
    return total / _MB


def _stat(process: int) -> list[str]:
    """The fields of ``/proc/PID/stat`` from the third on, the process's state; empty where it has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
