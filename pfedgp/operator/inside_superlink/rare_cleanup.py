"""Dead tasks are looked for once a second: Flower's SuperLink does so with nearly every call, which locks its database.

Each object that a site fetches or sends asks whether its run still runs, and that first writes what it finds of tasks
without a heartbeat. A write waits for every other write, and objects of a large model are long ones. So with a model of
45 MB this took a quarter of the SuperLink's time in its database.
"""

import functools
import importlib
import time
from collections.abc import Callable
from typing import Any, ClassVar

from pfedgp_core.patch import Patch, lacks

__all__ = ["EVERY", "RareCleanup"]

EVERY = 1.0  # seconds; a task without a heartbeat for half a minute is dead
_STATE = "flwr.supercore.corestate.sql_corestate"
_CLEANUP = "_cleanup_expired_task_tokens"


class RareCleanup(Patch):
    """Lets the SuperLink of this process look for dead tasks at most once in `EVERY` seconds.

    Parameters
    ----------
    states : class, optional
        Of states in a database; Flower's by default.
    """

    name: ClassVar = "rare-cleanup"
    purpose: ClassVar = "an object that a site fetches does not wait for those that others store"

    def __init__(self, states: Any = None) -> None:
        self._states = states

    def missing(self) -> str:
        """Whether the function that looks for dead tasks is gone."""
        return lacks(_STATE, f"SqlCoreState.{_CLEANUP}", {"self"})

    def apply(self) -> None:
        """Replace that function."""
        states: Any = self._states or importlib.import_module(_STATE).SqlCoreState
        setattr(states, _CLEANUP, _now_and_then(getattr(states, _CLEANUP)))


def _now_and_then(cleanup: Callable[[Any], None]) -> Callable[[Any], None]:
    last: dict[str, float] = {}  # by database

    @functools.wraps(cleanup)
    def cleanup_at_times(self: Any) -> None:
        database, now = str(getattr(self, "database_url", "")), time.monotonic()
        if now - last.get(database, float("-inf")) >= EVERY:
            last[database] = now
            cleanup(self)

    return cleanup_at_times
