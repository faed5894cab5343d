"""The deadline for the objects of a reply: the end of the exchange that asked for it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["SMALL_REPLY", "in_exchange", "objects_until", "seconds_left"]

SMALL_REPLY = 10.0  # seconds for the objects of a reply that nobody set a time for, which has a few hundred bytes

_until: ContextVar[float | None] = ContextVar("until", default=None)


@contextmanager
def objects_until(deadline: float) -> Iterator[None]:
    """Within this, missing objects of replies are waited for until `deadline` on the clock ``time.monotonic``.

    What is there by then is still taken. A reply with a missing object becomes an error reply.
    """
    former = _until.set(deadline)
    try:
        yield
    finally:
        _until.reset(former)


def in_exchange() -> bool:
    """Whether somebody has set a deadline, and looks for replies again and again until then."""
    return _until.get() is not None


def seconds_left() -> float:
    """Return the seconds for which missing objects may be waited for from now on."""
    until = _until.get()
    return SMALL_REPLY if until is None else max(0.0, until - time.monotonic())
