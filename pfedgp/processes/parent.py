"""A process that ends when its parent ends, in whatever way.

As a program, ``parent.py PARENT SIGNAL PROGRAM [ARGUMENT ...]`` makes this promise and then becomes PROGRAM. A
process with threads starts its children in this way: code of its own between fork and exec, where another thread may
have held a lock, can hang. It is started by its path, so that nothing but this file is loaded.
"""

import ctypes
import os
import signal
import sys

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
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def _become(program: list[str]) -> None:
    # Python ignores these two, and the program would inherit that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execv(program[0], program)  # noqa: S606 (it takes the place of this process)
    except OSError as error:
        sys.exit(f"Cannot start {program[0]} ({error.strerror}).")


if __name__ == "__main__":
    end_with_parent(int(sys.argv[1]), int(sys.argv[2]))
    _become(sys.argv[3:])
