"""How often sites look for messages: the server tells them, from the number of those that do.

Each look costs the server the check of a signature and a query. So that all sites together stay below `LOOKS` of them a
second, a site of a large federation waits for longer; those of a small one look as often as they like.
"""

import threading
import time
from collections.abc import Callable

__all__ = ["LOOKS", "Pace"]

LOOKS = 100.0  # a second, of all sites together
FORGOTTEN = 120.0  # seconds after its last look, when a site no longer counts
RECOUNT = 5.0  # seconds


class Pace:
    """Counts the keys that look for messages.

    Parameters
    ----------
    clock : callable
        Seconds since any moment.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._last: dict[bytes, float] = {}
        self._counted = clock()

    def pause(self, key: bytes) -> float:
        """Note a look of the site with this key, and return the seconds until it should look again."""
        with self._lock:
            now = self._clock()
            self._last[key] = now
            if now - self._counted > RECOUNT:
                self._last = {one: last for one, last in self._last.items() if now - last < FORGOTTEN}
                self._counted = now
            return len(self._last) / LOOKS
