"""A process that ends with its parent, however the parent ends."""

import ctypes
import os
import signal
from collections.abc import Callable
from functools import partial

__all__ = ["end_with_parent", "ends_with_this_process"]

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)  # loaded here, for between fork and exec nothing should be


def end_with_parent(parent: int, number: int = signal.SIGKILL) -> None:
    """Let Linux send this process a signal once the thread that started it is gone.

    Parameters
    ----------
    parent : int
        Process id of the parent, which may have ended since it started this process.
    number : int
        The signal; it also reaches a process that is busy or was replaced by another program with ``exec``.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def ends_with_this_process(number: int = signal.SIGTERM) -> Callable[[], None]:
    """Return the ``preexec_fn`` of a program that is to get a signal once the thread that starts it is gone."""
    return partial(end_with_parent, os.getpid(), number)
