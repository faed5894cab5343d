"""A process that ends with its parent, however the parent ends."""

import ctypes
import os
import signal

__all__ = ["end_with_parent"]

_PR_SET_PDEATHSIG = 1


def end_with_parent(parent: int, number: int = signal.SIGKILL) -> None:
    """Let Linux send this process a signal once the thread that started it is gone.

    Parameters
    ----------
    parent : int
        Process id of the parent, which may have ended since it started this process.
    number : int
        The signal; it also reaches a process that is busy or was replaced by another program with ``exec``.
    """
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)
