"""Requests that a site was given and never took in: Flower's SuperLink forgets them, here they are given again.

A SuperLink counts a request as delivered when it answers the site's call. An answer that is lost on its way, because
the SuperLink is killed or the line is cut just then, loses the request: the run waits for a reply until the round's
time is over. But a site takes one request at a time, and confirms it once it is whole, which removes its objects from
the SuperLink. So what was given to a site that asks again, and is still there, has not arrived.
"""

import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from pfedgp_core.patch import Patch, lacks

__all__ = ["TIMES", "Redelivery"]

TIMES = 20  # how often a request is given again to a site that never confirms it; the round's time ends it anyway
_HANDLER = "flwr.server.superlink.fleet.message_handler.message_handler"
_STATES = "flwr.server.superlink.linkstate"
_REQUESTS = "flwr.supercore.state.schema.linkstate_models"


class Redelivery(Patch):
    """Lets the SuperLink of this process give a request again to a site that asks before it has confirmed it.

    Parameters
    ----------
    handler : module, optional
        With the answers of the Fleet API; Flower's by default.
    """

    name: ClassVar = "redelivery"
    purpose: ClassVar = "a request whose delivery was cut off is delivered again"
    safety: ClassVar = True

    def __init__(self, handler: Any = None) -> None:
        self._handler = handler

    def missing(self) -> str:
        """What of the SuperLink's answers and of its state is gone."""
        columns = ("message_id", "run_id", "dst_node_id", "delivered_at")
        parts = [lacks(_HANDLER, "pull_messages", {"request", "state", "store"})]
        parts += [lacks(_STATES, name) for name in ("LinkState.get_run_status", "SqlLinkState.session")]
        parts += [lacks(_REQUESTS, f"MessageIns.{name}") for name in columns]
        parts += [lacks("flwr.supercore.object_store", "ObjectStore.__contains__")]
        parts += [lacks("flwr.supercore.utils", name) for name in ("uint64_to_int64", "int64_to_uint64")]
        parts += [lacks("flwr.common.constant", "Status.RUNNING")]
        return next(filter(None, parts), "")

    def apply(self) -> None:
        """Replace the answer to a site that asks for a request."""
        handler: Any = self._handler or importlib.import_module(_HANDLER)
        handler.pull_messages = _giving_again(handler.pull_messages)


@dataclass(frozen=True)
class _Given:
    """A request that a site was given, and how often again."""

    message: str
    run: int
    again: int = 0


def _giving_again(pull: Callable[..., Any]) -> Callable[..., Any]:
    last: dict[int, list[_Given]] = {}  # by site, what its last call was answered with

    @functools.wraps(pull)
    def pull_messages(request: Any, state: Any, store: Any) -> Any:
        node = request.node.node_id
        if node not in last:
            last[node] = _given_before(state, node)
        lost = {given.message: given for given in last[node] if _is_lost(given, state, store)}
        for message in lost:
            _take_back(state, message)
        answer = pull(request=request, state=state, store=store)
        # What is taken back and not given now is still to be given, and is no concern of this file any more.
        given = [(message.metadata.message_id, message.metadata.run_id) for message in answer.messages_list]
        last[node] = [_Given(key, run, lost[key].again + 1 if key in lost else 0) for key, run in given]
        return answer

    return pull_messages


def _is_lost(given: _Given, state: Any, store: Any) -> bool:
    """Whether a request has not arrived at the site and is still wanted."""
    from flwr.common.constant import Status

    if given.again >= TIMES or given.message not in store:
        return False
    status = state.get_run_status({given.run}).get(given.run)
    return status is not None and status.status == Status.RUNNING


def _given_before(state: Any, node: int) -> list[_Given]:
    """The requests that a SuperLink before this one has given to a site; only a database knows of such."""
    if not hasattr(state, "session"):
        return []
    from flwr.supercore.state.schema.linkstate_models import MessageIns
    from flwr.supercore.utils import int64_to_uint64, uint64_to_int64
    from sqlalchemy import select

    mine = MessageIns.dst_node_id == uint64_to_int64(node), MessageIns.delivered_at != ""
    with state.session() as session:
        rows = session.execute(select(MessageIns.message_id, MessageIns.run_id).where(*mine)).all()
    return [_Given(message, int64_to_uint64(run)) for message, run in rows]


def _take_back(state: Any, message: str) -> None:
    """Make a request one that was not given yet."""
    if not hasattr(state, "session"):
        with state.lock:
            if (request := state.message_ins_store.get(message)) is not None:
                request.metadata.delivered_at = ""
        return
    from flwr.supercore.state.schema.linkstate_models import MessageIns
    from sqlalchemy import update

    with state.session() as session:
        session.execute(update(MessageIns).where(MessageIns.message_id == message).values(delivered_at=""))
