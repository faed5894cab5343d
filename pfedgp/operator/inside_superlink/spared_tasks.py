"""A server app lives on while its SuperLink is away: Flower's SuperLink ends its run when it comes back after a minute.

A server app holds a token, which is good for a minute and which it renews every 20 seconds. While the SuperLink is away
it tries on, for ten minutes. But a SuperLink that comes back after that minute first ends the runs whose tokens have
run out, and then refuses the calls of their server apps. Here a start gives each of these tokens time enough to be
renewed. So a server app that is gone too is noticed `SPARED` after the start. A run that nobody works at yet is handed
out again as ever.
"""

import functools
import importlib
import logging
from datetime import timedelta
from typing import Any, ClassVar

from pfedgp_core.patch import Patch, lacks

__all__ = ["SPARED", "SparedTasks"]

logger = logging.getLogger("pfedgp.server")

SPARED = 120.0  # seconds; three threads of a server app wait up to 20 for their next try, one after the other
_STATES = "flwr.server.superlink.linkstate"
_START = "initialize"
_ROWS = "flwr.supercore.state.schema.corestate_models"


class SparedTasks(Patch):
    """Lets the SuperLink of this process wait for server apps that were there before it.

    Parameters
    ----------
    states : class, optional
        Of states in a database; Flower's by default.
    """

    name: ClassVar = "spared-tasks"
    purpose: ClassVar = "a SuperLink that was away for minutes does not end the runs whose server apps live on"

    def __init__(self, states: Any = None) -> None:
        self._states = states

    def missing(self) -> str:
        """Whether what opens the database, or what says until when a token is good, is gone."""
        parts = [lacks(_STATES, f"SqlLinkState.{name}") for name in (_START, "session")]
        parts += [lacks(_ROWS, f"Task.{name}") for name in ("token", "active_until", "running_at", "finished_at")]
        parts += [lacks("flwr.supercore.date", "now")]
        return next(filter(None, parts), "")

    def apply(self) -> None:
        """Have tokens renewed when the database is opened."""
        states: Any = self._states or importlib.import_module(_STATES).SqlLinkState
        start = getattr(states, _START)

        @functools.wraps(start)
        def starting(self: Any, *given: Any, **named: Any) -> Any:
            made = start(self, *given, **named)
            try:
                _spare(self)
            except Exception as error:  # noqa: BLE001 (a SuperLink that cannot do so starts as ever)
                logger.warning("Server apps that were there before are not waited for (%s).", type(error).__name__)
            return made

        setattr(states, _START, starting)


def _spare(state: Any) -> None:
    from flwr.supercore.date import now
    from flwr.supercore.state.schema.corestate_models import Task
    from sqlalchemy import update

    until = now() + timedelta(seconds=SPARED)
    works = Task.token.is_not(None), Task.running_at.is_not(None), Task.finished_at.is_(None)
    with state.session() as session:
        session.execute(update(Task).where(*works, Task.active_until < until).values(active_until=until))
