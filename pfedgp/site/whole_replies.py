"""Replies that a SuperLink took in part: Flower's SuperNode would drop them, here the rest is sent.

A reply is announced, then its objects are sent one by one. A SuperLink that is killed between taking an object and
saying so, or that has given up waiting for the rest, refuses the next try, and the SuperNode deletes the reply. But the
SuperLink knows a reply by its id: announced again, it says which objects it still lacks. One that fails within, as
where its disk is full, is tried for a minute.
"""

import functools
import importlib
import threading
import time
from collections.abc import Callable
from typing import Any, ClassVar

import grpc

from pfedgp_core.patch import Patch, lacks

__all__ = ["TIMES", "WholeReplies"]

PAUSES = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)  # seconds, after each refusal of an announcement or of an object
TIMES = len(PAUSES) + 1  # how often one is refused before the reply is given up
_LOOP = "flwr.supernode.start_client_internal"
_PUSH = "_push_messages"


class WholeReplies(Patch):
    """Lets the SuperNode of this process announce a reply again when one of its objects is refused.

    Parameters
    ----------
    loop : module, optional
        With the SuperNode's loop; Flower's by default.
    """

    name: ClassVar = "whole-replies"
    purpose: ClassVar = "a reply whose way to the server was cut off arrives"
    safety: ClassVar = True

    def __init__(self, loop: Any = None) -> None:
        self._loop = loop

    def missing(self) -> str:
        """What of the SuperNode's loop is gone."""
        return lacks(_LOOP, _PUSH, {"state", "object_store", "send", "push_object"}) or lacks(
            "flwr.supercore.inflatable.inflatable_utils", "ObjectPushError"
        )

    def apply(self) -> None:
        """Replace the loop's function that sends replies."""
        loop = self._loop or importlib.import_module(_LOOP)
        setattr(loop, _PUSH, _announcing_again(getattr(loop, _PUSH)))


def _announcing_again(push: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(push)
    def push_whole(*, send: Callable[..., Any], push_object: Callable[..., None], **others: Any) -> None:
        reply = _Reply(send, push_object)
        push(send=reply.announce, push_object=reply.push, **others)

    return push_whole


class _Reply:
    """The reply under way; Flower sends its objects from several threads."""

    def __init__(self, send: Callable[..., Any], push_object: Callable[..., None]) -> None:
        self._send, self._push = send, push_object
        self._lock = threading.Lock()
        self._announced: tuple[Any, ...] = ()
        self._session, self._lacking = "", frozenset[str]()

    def announce(self, *reply: Any) -> tuple[set[str], str]:
        """Announce a reply: the ids of the objects that the SuperLink lacks, and the id of this try."""
        for pause in (*PAUSES, None):
            try:
                lacking, session = self._send(*reply)
                break
            except grpc.RpcError as error:
                if pause is None or not _is_failure(error):
                    raise
                time.sleep(pause)
        self._announced, self._lacking, self._session = reply, frozenset(lacking), session
        return set(lacking), session

    def push(self, run: int, session: str, object_id: str, content: bytes) -> None:
        """Send one object, in the newest try.

        Raises
        ------
        ObjectPushError
            It was refused `TIMES` times.
        """
        from flwr.supercore.inflatable.inflatable_utils import ObjectPushError

        session = self._session
        for pause in (*PAUSES, None):
            try:
                return self._push(run, session, object_id, content)
            except (ObjectPushError, grpc.RpcError) as error:
                if pause is None or not (isinstance(error, ObjectPushError) or _is_failure(error)):
                    raise
                time.sleep(pause)
                with self._lock:
                    if session == self._session:
                        self.announce(*self._announced)
                    if object_id not in self._lacking:
                        return None
                    session = self._session
        return None


def _is_failure(error: Any) -> bool:
    """Whether the SuperLink says that something has failed within it; its connection is tried again by Flower."""
    return getattr(error, "code", lambda: None)() is grpc.StatusCode.INTERNAL
