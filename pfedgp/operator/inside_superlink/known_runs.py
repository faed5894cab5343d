"""Which runs work, kept for a second: Flower's SuperLink asks its database with each object that a site gets or sends.

A model of 45 MB is nine objects. Only that a run works is kept: one that is stopped is asked for again at once, one
that ends in another way after `KEPT`, and Flower cleans up after it as ever. Calls that announce or confirm messages
ask each time.
"""

import functools
import importlib
from collections.abc import Callable
from typing import Any, ClassVar

from pfedgp.operator.inside_superlink.kept_answers import KeptAnswers
from pfedgp_core.patch import Patch, lacks

__all__ = ["KEPT", "KnownRuns"]

KEPT = 1.0  # seconds
_SITES = "flwr.server.superlink.fleet.message_handler.message_handler"
_STATES = "flwr.server.superlink.linkstate"
_MOVES, _STATUS, _END = ("push_object", "pull_object"), "get_run_status", "finish_task"


class KnownRuns(Patch):
    """Lets the calls that move objects to and from sites keep which runs work.

    Parameters
    ----------
    sites : module, optional
        With the answers of the Fleet API; Flower's by default.
    states : class, optional
        Of states in a database; Flower's by default.
    """

    name: ClassVar = "known-runs"
    purpose: ClassVar = "an object that a site fetches or sends does not ask the database whether its run works"

    def __init__(self, sites: Any = None, states: Any = None) -> None:
        self._sites, self._states = sites, states

    def missing(self) -> str:
        """Whether what moves objects, what a run's status comes from, or what ends a run is gone."""
        parts = [lacks(_SITES, move, {"request", "state"}) for move in _MOVES]
        parts += [lacks(_STATES, f"SqlLinkState.{_STATUS}", {"run_ids"})]
        parts += [lacks(_STATES, f"SqlLinkState.{_END}"), lacks("flwr.common.constant", "Status.RUNNING")]
        return next(filter(None, parts), "")

    def apply(self) -> None:
        """Give the calls that move objects a state that knows, and hear of runs that end."""
        sites: Any = self._sites or importlib.import_module(_SITES)
        states: Any = self._states or importlib.import_module(_STATES).SqlLinkState
        known = KeptAnswers[dict[int, Any]](KEPT)
        for move in _MOVES:
            setattr(sites, move, _moving(known, states, getattr(sites, move)))
        setattr(states, _END, known.forgotten_by(getattr(states, _END)))


def _moving(known: KeptAnswers[dict[int, Any]], states: type, move: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(move)
    def quick(request: Any, state: Any) -> Any:
        return move(request, _Knowing(state, known) if isinstance(state, states) else state)

    return quick


class _Knowing:
    """A state that answers from what is known whether a run works."""

    def __init__(self, state: Any, known: KeptAnswers[dict[int, Any]]) -> None:
        self._state, self._known = state, known

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)

    def get_run_status(self, run_ids: set[int]) -> dict[int, Any]:
        from flwr.common.constant import Status

        def work(found: dict[int, Any]) -> bool:
            return all(run in found and found[run].status == Status.RUNNING for run in run_ids)

        of = str(getattr(self._state, "database_url", "")), frozenset(run_ids)
        return self._known.answer(of, lambda: self._state.get_run_status(run_ids), work)
