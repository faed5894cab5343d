"""Replies that a server app never got: Flower's SuperLink deletes them first, here it keeps them until they are there.

A SuperLink takes a reply out of its state before it answers the server app. Where it is killed in between, or its
answer is lost, so is the reply: the server app hears that its request is unknown, or waits until the round's time is
over. But it confirms each reply that it has whole, and asks for the others again. So a reply stays until it is
confirmed, and one that is asked for again is handed out again.
"""

import functools
import importlib
import threading
from collections.abc import Callable, Collection
from typing import Any, ClassVar

from pfedgp_core.patch import Patch, lacks

__all__ = ["KeptReplies"]

_HANDLERS = "flwr.superlink.servicer.runtime.runtime_handlers"
_STATES = "flwr.server.superlink.linkstate"
_REPLIES = "flwr.supercore.state.schema.linkstate_models"


class KeptReplies(Patch):
    """Lets the SuperLink of this process keep replies until the server app confirms them.

    Parameters
    ----------
    handlers : module, optional
        With the answers of the Runtime API; Flower's by default.
    """

    name: ClassVar = "kept-replies"
    purpose: ClassVar = "a reply whose way to the server app was cut off is handed out again"
    safety: ClassVar = True

    def __init__(self, handlers: Any = None) -> None:
        self._handlers = handlers

    def missing(self) -> str:
        """What of the SuperLink's answers and of its state is gone."""
        calls = {"request", "state", "task"}
        parts = [lacks(_HANDLERS, name, calls) for name in ("pull_messages", "confirm_message_received")]
        parts += [lacks(_STATES, f"LinkState.{name}") for name in ("get_message_res", "delete_messages")]
        parts += [lacks(_REPLIES, f"MessageRes.{name}") for name in ("reply_to_message_id", "delivered_at")]
        return next(filter(None, parts), "")

    def apply(self) -> None:
        """Replace the two answers."""
        handlers: Any = self._handlers or importlib.import_module(_HANDLERS)
        out = _HandedOut()
        handlers.pull_messages = out.keeping(handlers.pull_messages)
        handlers.confirm_message_received = out.deleting(handlers.confirm_message_received)


class _HandedOut:
    """The replies that were handed out and not confirmed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: dict[str, str] = {}  # id of a reply -> that of its request
        self._asked: dict[int, set[str]] = {}  # by run, the requests whose replies it asked for last

    def keeping(self, pull: Callable[..., Any]) -> Callable[..., Any]:
        """The answer to a server app that asks for replies, which deletes none."""

        @functools.wraps(pull)
        def pull_messages(request: Any, state: Any, task: Any) -> Any:
            asked = set(request.message_ids)
            with self._lock:
                # A SuperLink before this one may have handed out those that this one is asked for the first time.
                doubtful = (asked - self._asked.get(task.run_id, set())) | (asked & set(self._requests.values()))
                self._asked[task.run_id] = asked
            _take_back(state, doubtful)
            kept = _Keeping(state, asked)
            answer = pull(request=request, state=kept, task=task)
            given = {m.metadata.message_id: m.metadata.reply_to_message_id for m in answer.messages_list}
            with self._lock:
                self._requests |= {reply: asked_for for reply, asked_for in given.items() if asked_for in asked}
            state.delete_messages(message_ins_ids=kept.done - set(given.values()))  # there are no objects of these
            return answer

        return pull_messages

    def deleting(self, confirm: Callable[..., Any]) -> Callable[..., Any]:
        """The answer to a server app that has a reply whole."""

        @functools.wraps(confirm)
        def confirm_message_received(request: Any, state: Any, task: Any) -> Any:
            answer = confirm(request=request, state=state, task=task)
            with self._lock:
                done = self._requests.pop(request.message_object_id, None)
            if done is not None:
                state.delete_messages(message_ins_ids={done})
            return answer

        return confirm_message_received


class _Keeping:
    """A state that deletes no request that it is asked about, and notes which ones it was to delete."""

    def __init__(self, state: Any, asked: Collection[str]) -> None:
        self._state, self._kept = state, asked
        self.done: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)

    def delete_messages(self, message_ins_ids: set[str]) -> None:
        """Delete the others."""
        self.done |= {each for each in message_ins_ids if each in self._kept}
        self._state.delete_messages(message_ins_ids=message_ins_ids - self.done)


def _take_back(state: Any, requests: Collection[str]) -> None:
    """Make the replies to these requests ones that were not handed out."""
    if not requests:
        return
    if not hasattr(state, "session"):
        with state.lock:
            for request in requests:
                if (reply := state.message_ins_id_to_message_res_id.get(request)) is not None:
                    state.message_res_store[reply].metadata.delivered_at = ""
        return
    from flwr.supercore.state.schema.linkstate_models import MessageRes
    from sqlalchemy import update

    claimed = MessageRes.reply_to_message_id.in_(requests), MessageRes.delivered_at != ""
    with state.session() as session:
        session.execute(update(MessageRes).where(*claimed).values(delivered_at=""))
