"""The costs of running processes and their children: CPU seconds and memory."""

from collections.abc import Iterable
from contextlib import suppress

import psutil

__all__ = ["below", "cpu_seconds_of", "megabytes_of"]

_MB = 1e6


def below(root: int) -> list[int]:
    """Process ids of a process and of all that it and its children have started and that still run."""
    found = [root]
    with suppress(psutil.Error):
        found += [process.pid for process in psutil.Process(root).children(recursive=True)]
    return found


def cpu_seconds_of(processes: Iterable[int]) -> float:
    """CPU seconds that processes have used so far, with those of their children that have ended."""
    total = 0.0
    for process in processes:
        with suppress(psutil.Error):
            times = psutil.Process(process).cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def megabytes_of(processes: Iterable[int]) -> float:
    """Memory of processes in MB of 1e6 bytes; what several share is divided among them."""
    total = 0.0
    for process in processes:
        with suppress(psutil.Error):
            total += psutil.Process(process).memory_full_info().pss
    return total / _MB
