"""What a run has left under way when it ended takes no room: Flower's SuperLink keeps it until a site asks for it.

A server app that is killed leaves requests, replies and their objects, in the database, in memory and in files, and
objects that it has offered and that nobody was told of. Nobody asks for them again, as a run that goes on is another
one for Flower. Here they are removed within a minute of the run's end, or of the SuperLink's next start.
"""

import functools
import importlib
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from pfedgp_core.patch import Patch, lacks

__all__ = ["EVERY", "FORGOTTEN", "EndedRuns"]

logger = logging.getLogger("pfedgp.server")

EVERY = 60.0  # seconds
FORGOTTEN = 3600.0  # seconds; a file that is written or offered is taken within a few
_STATES = "flwr.server.superlink.linkstate"
_KINDS = ("InMemoryLinkState", "SqlLinkState")
_LOOK = "get_tasks"  # which the SuperExec has the SuperLink do twice a second


class EndedRuns(Patch):
    """Lets the SuperLink of this process remove what runs that have ended have left.

    Parameters
    ----------
    folder : Path, optional
        Of large objects (`FiledObjects`). Needed to apply the patch.
    """

    name: ClassVar = "ended-runs"
    purpose: ClassVar = "what a killed server app leaves under way takes no room"

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def missing(self) -> str:
        """What of the states is gone."""
        parts = [lacks(_STATES, f"{kind}.{_LOOK}") for kind in _KINDS]
        parts += [lacks(_STATES, "LinkState.cleanup_run", {"run_id"}), lacks(_STATES, "LinkState.get_run_status")]
        parts += [lacks("flwr.supercore.state.schema.linkstate_models", "MessageIns.run_id")]
        parts += [lacks("flwr.supercore.utils", "int64_to_uint64"), lacks("flwr.common.constant", "Status.FINISHED")]
        return next(filter(None, parts), "")

    def apply(self) -> None:
        """Have the states look for such runs now and then."""
        assert self._folder is not None
        for kind in _KINDS:
            state: Any = getattr(importlib.import_module(_STATES), kind)
            setattr(state, _LOOK, _now_and_then(getattr(state, _LOOK), self._folder))


def _now_and_then(look: Callable[..., Any], folder: Path) -> Callable[..., Any]:
    last = float("-inf")

    @functools.wraps(look)
    def looking(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal last
        found = look(self, *args, **kwargs)
        if time.monotonic() - last >= EVERY:
            last = time.monotonic()
            try:
                _clean(self)
                _sweep(folder)
            except Exception as error:  # noqa: BLE001 (whoever looks for tasks is not to suffer from it)
                logger.warning(
                    "What runs that have ended left under way is not removed yet (%s).", type(error).__name__
                )
        return found

    return looking


def _clean(state: Any) -> None:
    from flwr.common.constant import Status

    runs = _runs_of(state)
    known = state.get_run_status(runs)
    for run in runs:
        if run not in known or known[run].status == Status.FINISHED:
            state.cleanup_run(run)


def _runs_of(state: Any) -> set[int]:
    """Runs that have something under way."""
    runs = set(getattr(state.object_store, "run_objects_mapping", ()))
    if hasattr(state, "session"):
        from flwr.supercore.state.schema.linkstate_models import MessageIns
        from flwr.supercore.utils import int64_to_uint64
        from sqlalchemy import select

        with state.session() as session:
            runs |= {int64_to_uint64(run) for run in session.scalars(select(MessageIns.run_id).distinct())}
    return runs


def _sweep(folder: Path) -> None:
    """Remove objects that were offered, or half written, by a server app that was killed."""
    for path in [*folder.glob("*.offer"), *folder.glob(".*.partial")]:
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > FORGOTTEN:
                path.unlink()
