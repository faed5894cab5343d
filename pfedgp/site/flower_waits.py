"""Flower's fixed waits in a SuperNode, shortened: three seconds between messages, half a second for a reply."""

import importlib
import inspect
import threading
import time
from typing import Any, ClassVar

from pfedgp_core.patch import Patch

__all__ = ["ShortWaits", "Waits"]

SHORT, LONG, LINGER = 0.1, 1.0, 120.0
_LOOP = "flwr.supernode.start_client_internal"


class Waits:
    """Stands in for the module ``time`` in the SuperNode's loop, and passes the turn between the loop and the agent.

    The loop sleeps in two cases. With nothing to do it sleeps for seconds: that becomes ``SHORT`` seconds while the
    last message is less than ``LINGER`` seconds old, and else ``LONG``; or longer, where the server asks for it. While
    a reply is awaited it sleeps for less than a second: that wakes the agent, and ends as soon as the agent has stored
    the reply.

    Attributes
    ----------
    connected, task, reply, idle : threading.Event
        The SuperNode is connected; a message waits for the agent; the agent's reply waits for the SuperNode; the loop
        has been without a message since the event was cleared.
    told : float
        Seconds that the server wants to be left between two looks.
    """

    def __init__(self) -> None:
        self.connected, self.task, self.reply, self.idle = (threading.Event() for _ in range(4))
        self._last = float("-inf")
        self.told = 0.0

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
            time.sleep(max(min(seconds, self.pause()), self.told))

    def pause(self) -> float:
        """Seconds until the next look for a message."""
        return SHORT if time.monotonic() - self._last < LINGER else LONG


class ShortWaits(Patch):
    """Puts `Waits` in the place of the module ``time`` in the SuperNode's loop.

    Parameters
    ----------
    waits : Waits, optional
        Pass the turns; needed to apply the patch.
    """

    name: ClassVar = "short-waits"
    purpose: ClassVar = "a site looks for messages ten times a second, and hands them to its agent"
    safety: ClassVar = True

    def __init__(self, waits: Waits | None = None) -> None:
        self._waits = waits

    def missing(self) -> str:
        """What of the SuperNode's loop is gone."""
        try:
            loop = importlib.import_module(_LOOP)
            source = inspect.getsource(loop)
        except (ImportError, OSError):
            return f"{_LOOP} is gone"
        if getattr(loop, "time", None) is not time:
            return f"{_LOOP} does not wait with the module time"
        waits = [wait for wait in ("time.sleep(3)", "time.sleep(0.5)") if wait not in source]
        return f"{_LOOP} has no {' and no '.join(waits)}" if waits else ""

    def apply(self) -> None:
        """Replace the module in the loop."""
        importlib.import_module(_LOOP).time = self._waits  # type: ignore[attr-defined]
