"""A wait that signals can end: results and errors come through, and a handler runs while the call hangs."""

import signal
import threading
from collections.abc import Iterator

import pytest

from server.flower.attended import attended


class Interrupted(Exception):
    """Raised by the handler."""


@pytest.fixture
def handler() -> Iterator[None]:
    def raise_it(*_: object) -> None:
        raise Interrupted

    former = signal.signal(signal.SIGUSR1, raise_it)
    yield
    signal.signal(signal.SIGUSR1, former)


def test_what_the_call_returns() -> None:
    assert attended(lambda: 5) == 5


def test_what_the_call_raises() -> None:
    def fail() -> None:
        raise TimeoutError("of the call")

    with pytest.raises(TimeoutError, match="of the call"):
        attended(fail)


@pytest.mark.usefixtures("handler")
def test_a_signal_that_another_thread_raised_ends_the_wait() -> None:
    """As Flower does where the parent of a server app is gone: the main thread is not woken by it."""
    never = threading.Event()
    raiser = threading.Timer(0.1, lambda: signal.raise_signal(signal.SIGUSR1))
    raiser.start()
    with pytest.raises(Interrupted):
        attended(never.wait)
    never.set()
