"""Which site a key belongs to, kept for seconds: Flower's SuperLink asks its database twice with each call of a site.

The guard of the Fleet port and Flower's check of a signature ask for the same key one after the other, and a site in a
round calls many times a second. A site that is removed is forgotten at once, as what removes it passes here too; where
another process changes the database, after `KEPT`.
"""

import functools
import importlib
from collections.abc import Callable
from typing import Any, ClassVar

from pfedgp.operator.inside_superlink.kept_answers import KeptAnswers
from pfedgp_core.patch import Patch, lacks

__all__ = ["KEPT", "KnownKeys"]

KEPT = 5.0  # seconds
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
        known = KeptAnswers[int | None](KEPT)
        setattr(states, _LOOKUP, _kept(known, getattr(states, _LOOKUP)))
        setattr(states, _REMOVAL, known.forgotten_by(getattr(states, _REMOVAL)))


def _kept(
    known: KeptAnswers[int | None], look: Callable[[Any, bytes], int | None]
) -> Callable[[Any, bytes], int | None]:
    @functools.wraps(look)
    def looked_up(state: Any, public_key: bytes) -> int | None:
        database = str(getattr(state, "database_url", ""))
        return known.answer(
            (database, public_key), lambda: look(state, public_key), lambda node_id: node_id is not None
        )

    return looked_up
