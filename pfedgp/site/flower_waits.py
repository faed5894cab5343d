"""Flower's fixed waits in a SuperNode, shortened, where the installed Flower is one that this was tested with.

A stock SuperNode looks for a message every three seconds and for its reply twice a second, and asks again after a
second for an object that is still being sent. Every name that is needed for shorter waits is checked first; where one
is missing nothing is changed, and the site runs the stock SuperNode.
"""

import importlib
import inspect
import threading
import time
from types import ModuleType
from typing import Any

from pfedgp.site.lost_messages import can_forget, forget_lost_messages

__all__ = ["TESTED", "Waits", "fast_rounds_unsupported", "shorten_waits"]

TESTED = "1.39."
SHORT, LONG, LINGER = 0.1, 1.0, 120.0
# Seconds for the content of a request that the server announced: it sends it right after, and again within half a
# minute where its SuperLink was away. The agent is woken when all of it is here.
CONTENT, STORED = 60.0, 5.0


class Waits:
    """Stands in for the module ``time`` in the SuperNode's loop, and passes the turn between the loop and the agent.

    The loop sleeps in two cases. With nothing to do it sleeps for seconds: that becomes ``SHORT`` seconds while the
    last message is less than ``LINGER`` seconds old, and else ``LONG``. While a reply is awaited it sleeps for less
    than a second: that wakes the agent, and ends as soon as the agent has stored the reply.

    Attributes
    ----------
    connected, task, reply, idle : threading.Event
        The SuperNode is connected; a message waits for the agent; the agent's reply waits for the SuperNode; the loop
        has been without a message since the event was cleared.
    """

    def __init__(self) -> None:
        self.connected, self.task, self.reply, self.idle = (threading.Event() for _ in range(4))
        self._last = float("-inf")

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

    def sleep(self, seconds: float) -> None:
        """Wait for at most `seconds`."""
        self.connected.set()
        if seconds < 1.0:
            self._last = time.monotonic()
            self.task.set()
            self.reply.wait(min(seconds, SHORT))
            self.reply.clear()
        else:
            self.idle.set()
            time.sleep(min(seconds, self.pause()))

    def pause(self) -> float:
        """Seconds until the next look for a message."""
        return SHORT if time.monotonic() - self._last < LINGER else LONG


def fast_rounds_unsupported() -> str:
    """Why the installed Flower cannot be run with short waits; empty where it can."""
    try:
        import flwr
        from flwr.supernode.cli import flower_supernode  # noqa: F401

        if not flwr.__version__.startswith(TESTED):
            return f"Flower {flwr.__version__} is installed and {TESTED}x is what fast rounds were tested with"
        importlib.import_module("pfedgp.site.agent")  # its imports are a part of the question
        module = _loop()
        source = inspect.getsource(module)
        if (
            getattr(module, "time", None) is not time
            or "time.sleep(3)" not in source
            or "time.sleep(0.5)" not in source
        ):
            return "Flower's SuperNode waits in another way than expected"
        if not can_forget(module):
            return "Flower's SuperNode takes messages in in another way than expected"
    except (AttributeError, ImportError, OSError) as error:
        return f"a part of Flower that fast rounds need is missing ({error})"
    return ""


def shorten_waits() -> Waits:
    """Replace the waits of this process's SuperNode, mend its loop, and return what passes the turns."""
    from server.flower.object_retry import shorten_object_retry

    shorten_object_retry(pull_objects=CONTENT, pull_and_inflate_object_from_tree=STORED)
    waits = Waits()
    _loop().time = waits  # type: ignore[attr-defined]
    forget_lost_messages(_loop())
    return waits


def _loop() -> ModuleType:
    import flwr.supernode.start_client_internal

    return flwr.supernode.start_client_internal
