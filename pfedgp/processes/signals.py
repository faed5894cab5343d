"""Signals that ask a process to end: the first one is handled, and later ones do not disturb the end."""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from pfedgp.processes.ending import end_unless

__all__ = [
    "STOPPED",
    "STOP_OR_HANGUP",
    "STOP_SIGNALS",
    "StopSignals",
    "TerminatedError",
    "exit_code",
    "ignore_stop_signals",
    "interrupted",
    "on_stop_signal",
]

STOPPED = "pfedgp: Stopped."  # the last line of a command that was told to end
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
STOP_OR_HANGUP = (*STOP_SIGNALS, signal.SIGHUP)


class TerminatedError(KeyboardInterrupt):
    """SIGTERM came; it leaves through the same doors as Ctrl-C, with an exit code of its own."""


class StopSignals:
    """The handlers of `on_stop_signal`, and what has come.

    Parameters
    ----------
    handler : callable
        Called with the number of the first signal.
    numbers : sequence of int
        Signals.
    """

    def __init__(self, handler: Callable[[int], None], numbers: Sequence[int]) -> None:
        self._handler, self._numbers = handler, numbers
        self.came: int | None = None  # number of the first signal

    def install(self) -> dict[int, "Callable[[int, FrameType | None], object] | int | None"]:
        """Install the handlers, again where a library has installed its own, and return the former ones.

        Outside the main thread, where Python allows no handlers, nothing is done.
        """
        if threading.current_thread() is not threading.main_thread():
            return {}
        return {number: signal.signal(number, self._handle) for number in self._numbers}

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.came is None:
            self.came = number
            self._handler(number)


@contextmanager
def on_stop_signal(handler: Callable[[int], None], numbers: Sequence[int] = STOP_SIGNALS) -> Iterator[StopSignals]:
    """Call `handler` with the number of the first of these signals, and ignore all later ones.

    Without one, the former handlers come back at the end. After one, the signals stay ignored: service managers and
    people send them again, and the default action would kill a process that has ended in order but for its last line.

    Parameters
    ----------
    handler : callable
        Runs between two instructions of the main thread; may raise.
    numbers : sequence of int
        Signals. One that the process was started to ignore stays ignored: a shell does that with Ctrl-C for a job in
        the background, and nohup with the end of the terminal.
    """
    heeded = [n for n in numbers if n == signal.SIGTERM or signal.getsignal(n) is not signal.SIG_IGN]
    signals = StopSignals(handler, heeded)
    former = signals.install()
    try:
        yield signals
    finally:
        for number, before in former.items():
            signal.signal(number, signal.SIG_IGN if signals.came is not None else before)


@contextmanager
def interrupted(grace: float | None = None) -> Iterator[StopSignals]:
    """Interrupt the block at the first signal; whatever the block makes of that, its end is the interruption.

    Parameters
    ----------
    grace : float, optional
        Seconds after the signal in which the block ends, or this process is ended with all below it; by default the
        block may take as long as it likes.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C.
    TerminatedError
        SIGTERM.
    """
    over = threading.Event()

    def interrupt(number: int) -> None:
        interruption = _interruption(number)
        if grace is not None:
            end_unless(over, grace, exit_code(interruption), STOPPED)
        raise interruption

    with on_stop_signal(interrupt) as signals:
        try:
            yield signals
        except BaseException as error:
            if signals.came is None:
                raise
            raise _interruption(signals.came) from error
        finally:
            over.set()


def exit_code(stop: KeyboardInterrupt) -> int:
    """The exit code of a command that was interrupted: 130 after Ctrl-C, 143 after SIGTERM."""
    return 143 if isinstance(stop, TerminatedError) else 130


def ignore_stop_signals() -> None:
    """Ignore them all from now on, in a process that ends anyway and whose exit code is decided."""
    for number in STOP_OR_HANGUP:
        signal.signal(number, signal.SIG_IGN)


def _interruption(number: int) -> KeyboardInterrupt:
    return TerminatedError() if number == signal.SIGTERM else KeyboardInterrupt()
