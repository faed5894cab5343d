"""Requests whose content never comes: Flower's SuperNode would keep them, and delay every later reply.

A server app that dies between announcing a request and sending its content leaves the SuperNode waiting for the content
until the run is over. Then the SuperNode drops the request but not the task that it had made of it. The task expires
later, and the error reply that this makes is sent in the place of the next request's reply, which stays until a further
request arrives. So what a dropped request has left is removed here, at once.
"""

import functools
import importlib
from collections.abc import Callable
from typing import Any, ClassVar

from pfedgp_core.patch import Patch, lacks

__all__ = ["LostMessages"]

_LOOP = "flwr.supernode.start_client_internal"
_TAKE = "_pull_and_store_message"
_STATE = ("get_tasks", "finish_task", "get_messages", "delete_messages")


class LostMessages(Patch):
    """Lets the SuperNode of this process forget all about a request that it could not take in.

    Parameters
    ----------
    loop : module, optional
        With the SuperNode's loop; Flower's by default.
    """

    name: ClassVar = "lost-messages"
    purpose: ClassVar = "a request that never comes whole does not delay all later replies of a site"
    safety: ClassVar = True

    def __init__(self, loop: Any = None) -> None:
        self._loop = loop

    def missing(self) -> str:
        """What of the SuperNode's loop or of its state is gone."""
        parts = [lacks(_LOOP, _TAKE, {"state", "object_store", "receive"})]
        parts += [lacks("flwr.supernode.nodestate", f"NodeState.{name}") for name in _STATE]
        parts += [lacks("flwr.common.constant", name) for name in ("Status", "SubStatus")]
        return next(filter(None, parts), "")

    def apply(self) -> None:
        """Replace the loop's function that takes a request in."""
        loop = self._loop or importlib.import_module(_LOOP)
        setattr(loop, _TAKE, _forgetful(getattr(loop, _TAKE)))


def _forgetful(take: Callable[..., int | None]) -> Callable[..., int | None]:
    @functools.wraps(take)
    def take_whole(*, state: Any, object_store: Any, receive: Callable[[], Any], **others: Any) -> int | None:
        announced: list[tuple[str, set[int]]] = []  # the request's id, and the tasks that are not its own

        def listen() -> Any:
            received = receive()
            if received is not None:
                announced.append((received[0].metadata.message_id, _open_tasks(state)))
            return received

        run_id = take(state=state, object_store=object_store, receive=listen, **others)
        if run_id is None and announced:
            message_id, others_tasks = announced[0]
            _forget(state, object_store, message_id, _open_tasks(state) - others_tasks)
        return run_id

    return take_whole


def _open_tasks(state: Any) -> set[int]:
    from flwr.common.constant import Status

    return {task.task_id for task in state.get_tasks(statuses=[Status.PENDING, Status.STARTING, Status.RUNNING])}


def _forget(state: Any, object_store: Any, message_id: str, tasks: set[int]) -> None:
    from flwr.common.constant import SubStatus

    for task in tasks:
        state.finish_task(task, sub_status=SubStatus.FAILED, details="The request did not arrive whole.")
    # The loop serves one request at a time, so that every reply that is there now is one to this request.
    replies = [reply.metadata.message_id for reply in state.get_messages(is_reply=True)]
    state.delete_messages(message_ids=[message_id, *replies])
    for lost in (message_id, *replies):
        object_store.delete(lost)
