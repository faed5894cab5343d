"""Limits on the objects of a request at a site: asked for again soon, and given up in time.

A message is announced before its objects are there. Flower waits a second before it asks for a missing one again, and
two hours for one that never comes because its sender or the SuperLink died.
"""

import importlib
from typing import Any, ClassVar

from pfedgp_core.patch import Patch, lacks

__all__ = ["ObjectLimits"]

FIRST_WAIT, LAST_WAIT = 0.05, 1.0  # seconds; doubled after every try
# Seconds for the content of a request that the server announced: it sends it right after, and again within half a
# minute where its SuperLink was away. The agent is woken when all of it is here.
CONTENT, STORED = 60.0, 5.0
_OBJECTS = "flwr.supercore.inflatable.inflatable_utils"


class ObjectLimits(Patch):
    """Sets the waits of the SuperNode, which takes objects from the server, and of the agent, which takes them next."""

    name: ClassVar = "object-limits"
    purpose: ClassVar = "a request whose content is late does not cost a second, nor one without content two hours"

    def missing(self) -> str:
        """Which of the two functions has no such limits."""
        for name in self._limits():
            if gone := lacks(_OBJECTS, name):
                return gone
            defaults = getattr(importlib.import_module(_OBJECTS), name).__kwdefaults__ or {}
            if unknown := {"initial_backoff", "max_time", "backoff_cap"} - set(defaults):
                return f"{_OBJECTS}.{name} has no default of {', '.join(sorted(unknown))}"
        return ""

    def apply(self) -> None:
        """Replace the functions' defaults."""
        module: Any = importlib.import_module(_OBJECTS)
        for name, seconds in self._limits().items():
            getattr(module, name).__kwdefaults__.update(
                initial_backoff=FIRST_WAIT, max_time=seconds, backoff_cap=LAST_WAIT
            )

    @staticmethod
    def _limits() -> dict[str, float]:
        """Seconds after which each of Flower's functions gives an object up."""
        return {"pull_objects": CONTENT, "pull_and_inflate_object_from_tree": STORED}
