"""Which site a key belongs to, kept for seconds: Flower's SuperLink asks its database twice with each call of a site.

The guard of the Fleet port and Flower's check of a signature ask for the same key one after the other, and a site in a
round calls many times a second. A site that is removed is forgotten at once, as what removes it passes here too; where
another process changes the database, after `KEPT`.
"""

import functools
import importlib
import threading
import time
from collections.abc import Callable
from typing import Any, ClassVar

from pfedgp_core.patch import Patch, lacks

__all__ = ["KEPT", "KnownKeys"]

KEPT = 5.0  # seconds
MOST = 10_000  # keys
_STATES = "flwr.server.superlink.linkstate"
_LOOKUP, _REMOVAL = "get_node_id_by_public_key", "delete_node"


class KnownKeys(Patch):
    """Lets the SuperLink of this process keep whose a registered key is; unknown keys are looked up each time.

    Parameters
    ----------
    states : class, optional
        Of states in a database; Flower's by default.
    """

    name: ClassVar = "known-keys"
    purpose: ClassVar = "a site's call asks the database for its key once in five seconds, and not twice"

    def __init__(self, states: Any = None) -> None:
        self._states = states

    def missing(self) -> str:
        """Whether what finds a key, or what removes a site, is gone."""
        return lacks(_STATES, f"SqlLinkState.{_LOOKUP}", {"public_key"}) or lacks(
            _STATES, f"SqlLinkState.{_REMOVAL}", {"node_id"}
        )

    def apply(self) -> None:
        """Replace both."""
        states: Any = self._states or importlib.import_module(_STATES).SqlLinkState
        known = _Known()
        setattr(states, _LOOKUP, known.looked_up(getattr(states, _LOOKUP)))
        setattr(states, _REMOVAL, known.removed(getattr(states, _REMOVAL)))


class _Known:
    """Node ids by database and key, and since when."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[tuple[str, bytes], tuple[int, float]] = {}
        self._removals = 0

    def looked_up(self, look: Callable[[Any, bytes], int | None]) -> Callable[[Any, bytes], int | None]:
        @functools.wraps(look)
        def known(self_: Any, public_key: bytes) -> int | None:
            of, now = (str(getattr(self_, "database_url", "")), public_key), time.monotonic()
            with self._lock:
                removals = self._removals
                found = self._found.get(of)
            if found and now - found[1] < KEPT:
                return found[0]
            node_id = look(self_, public_key)
            with self._lock:
                if node_id is not None and removals == self._removals:  # else it may have been read before a removal
                    if len(self._found) >= MOST:
                        self._found.clear()
                    self._found[of] = node_id, now
            return node_id

        return known

    def removed(self, remove: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(remove)
        def forgetting(*given: Any, **named: Any) -> Any:
            try:
                return remove(*given, **named)
            finally:
                with self._lock:
                    self._removals += 1
                    self._found.clear()

        return forgetting
