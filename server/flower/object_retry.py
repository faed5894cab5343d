"""The objects that a message consists of, on their way to this process: asked for again soon, and given up in time.

A message is announced before its objects are there. Flower waits a second before it asks for a missing one again, and
two hours for one that never comes because its sender or the SuperLink died. Needs no certain version of Flower: where
a parameter has another name, Flower's own behaviour stays.
"""

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["FIRST_WAIT", "LAST_WAIT", "SMALL_REPLY", "end_pulls_in_time", "objects_until", "shorten_object_retry"]

FIRST_WAIT, LAST_WAIT = 0.05, 1.0  # seconds; doubled after every try
SMALL_REPLY = 10.0  # seconds for the objects of a reply that nobody set a time for, which has a few hundred bytes

_until: float | None = None  # of `objects_until`


def shorten_object_retry(**limits: float) -> bool:
    """Set the first wait of this process; False where this Flower has no such parameter.

    Parameters
    ----------
    limits : float
        Seconds after which a missing object is given up, by the name of Flower's function: ``pull_objects``, or
        ``pull_and_inflate_object_from_tree``, with which a client app's process takes a message from its SuperNode.
    """
    try:
        from flwr.supercore.inflatable import inflatable_utils
    except ImportError:
        return False
    found = False
    for name in ("pull_objects", "pull_and_inflate_object_from_tree"):
        defaults = getattr(getattr(inflatable_utils, name, None), "__kwdefaults__", None) or {}
        if "initial_backoff" in defaults:
            defaults["initial_backoff"] = FIRST_WAIT
            found = True
        if name in limits and {"max_time", "backoff_cap"} <= set(defaults):
            defaults["max_time"], defaults["backoff_cap"] = limits[name], LAST_WAIT
    return found


def end_pulls_in_time() -> bool:
    """Make the grid of this process obey `objects_until`; False where this Flower has no such parameters."""
    try:
        from flwr.superlink.grid import http_grid
    except ImportError:
        return False
    pull = getattr(http_grid, "pull_objects", None)
    if getattr(pull, "ends_in_time", False):
        return True
    if not {"max_time", "max_tries_per_object", "backoff_cap"} <= set(getattr(pull, "__kwdefaults__", None) or {}):
        return False
    http_grid.pull_objects = _in_time(pull)  # type: ignore[arg-type]
    return True


@contextmanager
def objects_until(deadline: float) -> Iterator[None]:
    """Within this, missing objects of replies are waited for until `deadline` on the clock ``time.monotonic``.

    What is there by then is still taken. A reply with a missing object becomes Flower's error reply.
    """
    global _until
    former, _until = _until, deadline
    try:
        yield
    finally:
        _until = former


def _in_time(pull: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(pull)
    def pull_in_time(*arguments: Any, **more: Any) -> Any:
        left = SMALL_REPLY if _until is None else max(0.0, _until - time.monotonic())
        limits = {"max_time": left, "max_tries_per_object": None, "backoff_cap": LAST_WAIT}
        return pull(*arguments, **limits | more)

    pull_in_time.ends_in_time = True  # type: ignore[attr-defined]
    return pull_in_time
