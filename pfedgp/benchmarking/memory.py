"""Peak memory of one piece of work in a process that goes on to others.

Linux keeps the peak of a process's resident memory (``VmHWM``), and lets a process set that mark back to what it holds
now (``/proc/self/clear_refs``); psutil knows neither of the two. Where that is not permitted, the peak is that of the
whole process so far, an upper bound.
"""

import ctypes
import gc
import re
import resource
import sys
from pathlib import Path

__all__ = ["PeakMemory"]

_RESET_MARK = "5"  # proc(5): set the peak resident set size back to the present one
_MB = 1e6


class PeakMemory:
    """Peak resident memory since `restart`.

    Attributes
    ----------
    method : str
        ``case``: the peak since the restart; ``process``: the peak since the process began.
    """

    method = "process"

    def restart(self) -> None:
        """Give freed memory back and begin anew."""
        gc.collect()
        _trim()
        try:
            Path("/proc/self/clear_refs").write_text(_RESET_MARK)
            self.method = "case" if _high_water_mark() is not None else "process"
        except OSError:
            self.method = "process"

    def megabytes(self) -> float:
        """The peak in MB of 1e6 bytes."""
        mark = _high_water_mark() if self.method == "case" else None
        if mark is not None:
            return mark
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak * (1 if sys.platform == "darwin" else 1024) / _MB  # bytes on macOS, KiB elsewhere


def _high_water_mark() -> float | None:
    try:
        found = re.search(r"^VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) * 1024 / _MB if found else None


def _trim() -> None:
    """Return free pages of the C heap to the system, where the C library can."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError):
        return
