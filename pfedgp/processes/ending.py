"""The end of a process that no library can hold up: what it has started is killed, and it leaves with its exit code."""

import os
import sys
import threading
from contextlib import suppress

__all__ = ["end_now", "end_unless"]

FLUSH = 2.0  # seconds


def end_now(code: int) -> None:
    """End this process and all below it at once; what it has printed is written, and no handler at exit runs."""
    import psutil  # every command imports this file, and few get here

    with suppress(psutil.Error):
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                process.kill()
    # A stream whose reader is stuck, or whose lock another thread holds, must not keep the process.
    flushing = threading.Thread(target=_flush, daemon=True)
    flushing.start()
    flushing.join(FLUSH)
    os._exit(code)


def end_unless(over: threading.Event, seconds: float, code: int, last_words: str) -> None:
    """End this process from another thread unless `over` is set within some seconds.

    Parameters
    ----------
    over : Event
    seconds : float
    code : int
        The exit code.
    last_words : str
        The line on stderr.
    """

    def watch() -> None:
        if not over.wait(seconds):
            # Not by print: the main thread may hold the lock of the stream.
            with suppress(OSError):
                os.write(2, f"{last_words}\n".encode())
            end_now(code)

    threading.Thread(target=watch, daemon=True, name="end").start()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
