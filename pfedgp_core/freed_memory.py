"""Freed memory that stays with the process: to get it back from the system costs more than to compute in it.

The C library returns large freed blocks at once, and every page of a new one is a fault that the system fills with
zeros. An update frees and takes the same tens of megabytes again and again. What is too large to be kept comes at least
in large pages, of 2 MB and not of 4 kB, where the system gives them (``/sys/kernel/mm/transparent_hugepage``).
"""

import ctypes
from collections.abc import Mapping

__all__ = ["KEPT", "keep_freed_memory", "large_pages"]

KEPT = 3 * 2**25  # bytes at the end of the heap that may lie idle
LARGEST_BLOCK = 2**24  # larger ones go back at once, so that they leave no holes
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # of <malloc.h>
_TUNABLES, _LARGE_PAGES = "GLIBC_TUNABLES", "glibc.malloc.hugetlb"


def keep_freed_memory(one_heap: bool = False) -> bool:
    """Let this process keep up to `KEPT` bytes that it has freed; whether its C library can.

    Parameters
    ----------
    one_heap : bool
        Whether threads share one heap, so that what one has freed is there for all; before there are threads.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not GNU's, or not a Unix
        return False
    if one_heap:
        mallopt(_ARENA_MAX, 1)
    return bool(mallopt(_MMAP_THRESHOLD, LARGEST_BLOCK)) and bool(mallopt(_TRIM_THRESHOLD, KEPT))


def large_pages(environment: Mapping[str, str]) -> dict[str, str]:
    """The variable that has a program, started with it, take its memory in large pages, unless it says so already."""
    told = environment.get(_TUNABLES, "")
    return {_TUNABLES: told if _LARGE_PAGES in told else ":".join(filter(None, (told, f"{_LARGE_PAGES}=1")))}
