"""An object that comes is looked up in one statement: Flower's SuperLink has SQLAlchemy make two anew for each.

Before it stores an object, the SuperLink takes it off the list of those that its session waits for, and reads until
when the session is good. Most of that was Python: each statement was built from classes, and compared with objects in
memory. Here it is one statement, built once.
"""

import functools
import importlib
from datetime import datetime
from typing import Any, ClassVar

from pfedgp_core.patch import Patch, lacks

__all__ = ["ShortClaims"]

_STATES = "flwr.supercore.corestate.sql_corestate"
_CLAIM = "_claim_pending_object"
_ROWS = "flwr.supercore.state.schema.corestate_models"


class ShortClaims(Patch):
    """Lets the SuperLink of this process claim an object in one statement.

    Parameters
    ----------
    states : class, optional
        Of states in a database; Flower's by default.
    """

    name: ClassVar = "short-claims"
    purpose: ClassVar = "an object that a site sends is claimed in one statement of the SuperLink's database"

    def __init__(self, states: Any = None) -> None:
        self._states = states

    def missing(self) -> str:
        """Whether what claims an object, or a column that it needs, is gone."""
        parts = [lacks(_STATES, f"SqlCoreState.{_CLAIM}", {"run_id", "session_id", "object_id"})]
        parts += [lacks(_STATES, "SqlCoreState.session"), lacks("flwr.supercore.utils", "uint64_to_int64")]
        parts += [lacks(_ROWS, f"ObjectPushSessionPending.{name}") for name in ("session_id", "object_id")]
        parts += [lacks(_ROWS, f"ObjectPushSession.{name}") for name in ("session_id", "run_id", "expires_at")]
        return next(filter(None, parts), "")

    def apply(self) -> None:
        """Replace that function."""
        from flwr.supercore.utils import uint64_to_int64

        states: Any = self._states or importlib.import_module(_STATES).SqlCoreState
        statement = _statement()

        @functools.wraps(getattr(states, _CLAIM))
        def claim(self: Any, run_id: int, session_id: str, object_id: str) -> datetime | None:
            values = {"of_session": session_id, "of_object": object_id, "of_run": uint64_to_int64(run_id)}
            with self.session() as session:
                expires_at: datetime | None = session.connection().execute(statement, values).scalar()
            return expires_at

        setattr(states, _CLAIM, claim)


def _statement() -> Any:
    """Delete what is waited for, and return until when its session is good."""
    from flwr.supercore.state.schema.corestate_models import ObjectPushSession, ObjectPushSessionPending
    from sqlalchemy import bindparam, delete, select

    session: Any = ObjectPushSession.__table__.c
    waiting: Any = ObjectPushSessionPending.__table__
    expires_at = select(session.expires_at).where(session.session_id == bindparam("of_session"))
    return (
        delete(waiting)
        .where(
            waiting.c.session_id == bindparam("of_session"),
            waiting.c.object_id == bindparam("of_object"),
            expires_at.where(session.run_id == bindparam("of_run")).exists(),
        )
        .returning(expires_at.scalar_subquery())
    )
