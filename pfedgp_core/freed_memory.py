"""Freed memory that stays with the process: to get it back from the system costs more than to compute in it.

The C library returns large freed blocks at once, and every page of a new one is a fault that the system fills with
zeros. An update frees and takes the same tens of megabytes again and again.
"""

import ctypes

__all__ = ["KEPT", "keep_freed_memory"]

KEPT = 3 * 2**25  # bytes at the end of the heap that may lie idle
LARGEST_BLOCK = 2**24  # larger ones go back at once, so that they leave no holes
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of <malloc.h>


def keep_freed_memory() -> bool:
    """Let this process keep up to `KEPT` bytes that it has freed; whether its C library can."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not GNU's, or not a Unix
        return False
    return bool(mallopt(_MMAP_THRESHOLD, LARGEST_BLOCK)) and bool(mallopt(_TRIM_THRESHOLD, KEPT))
