"""The signals that ask a process for its end: the first one is handled, and none after it spoils the end."""

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

__all__ = ["on_stop_signal"]


@contextmanager
def on_stop_signal(
    handler: Callable[[int], None], numbers: Sequence[int] = (signal.SIGTERM, signal.SIGINT)
) -> Iterator[None]:
    """Call `handler` with the number of the first of these signals, and ignore all later ones.

    Without one, the former handlers come back at the end. After one, the signals stay ignored: service managers and
    people send them again, and the default action would kill a process that has ended in order but for its last line.

    Parameters
    ----------
    handler : callable
        Runs between two instructions of the main thread; may raise.
    numbers : sequence of int
        Signals.
    """
    came = False

    def first(number: int, frame: FrameType | None) -> None:
        nonlocal came
        if not came:
            came = True
            handler(number)

    former = {number: signal.signal(number, first) for number in numbers}
    try:
        yield
    finally:
        for number, before in former.items():
            signal.signal(number, signal.SIG_IGN if came else before)
