"""A wait of the main thread that signals can end.

Python runs the handlers of signals in the main thread, and not while that waits for a lock without a time limit, as it
does in Flower's pull of objects. A server app whose parents are gone would hear of it only once that wait is over.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

__all__ = ["attended"]

T = TypeVar("T")

LOOK = 0.2  # seconds between two moments at which a signal is handled


def attended(call: Callable[[], T]) -> T:
    """Return what `call` returns, or raise what it raises; it runs in a thread that does not keep the process alive."""
    outcome: Future[T] = Future()
    ended = threading.Event()

    def work() -> None:
        try:
            outcome.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised again by the one who waits
            outcome.set_exception(error)
        ended.set()

    threading.Thread(target=work, daemon=True, name="attended").start()
    while not ended.wait(LOOK):
        pass
    return outcome.result()
