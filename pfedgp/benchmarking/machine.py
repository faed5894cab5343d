"""The machine of a benchmark: hardware, software, load. No names of hosts, users or folders."""

import os
import platform
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch

from pfedgp import __version__

__all__ = ["describe_machine", "load"]


def describe_machine() -> dict[str, Any]:
    """Processor, cores, memory, versions and threads, as plain values for JSON."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "pfedgp": __version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "load_at_start": load(),
    }


def load() -> float | None:
    """Processes that wanted to run in the last minute, on average."""
    try:
        return round(os.getloadavg()[0], 2)
    except OSError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or "unknown"
