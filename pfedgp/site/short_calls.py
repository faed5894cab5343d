"""The agent's calls to the SuperNode, in whose process it is: answered at once, without HTTP in between.

Flower's ClientApps are processes of their own, which ask their SuperNode over HTTP. The agent asks for the same things,
of which a message needs fifteen, and with a large model passes all of it in both directions.
"""

import functools
import importlib
from collections.abc import Callable
from typing import Any, ClassVar

import httpx

from pfedgp_core.patch import Patch, lacks

__all__ = ["ShortCalls", "Shortly"]

_PROGRAM = "flwr.supernode.cli.flower_supernode"
_HANDLERS = "flwr.supernode.servicer.runtime.runtime_handlers"
_COMMON = "flwr.supercore.servicer.runtime.runtime_handlers"
_CALLS = {
    "PullTaskInput": "pull_task_input",
    "PullMessages": "pull_messages",
    "PullObject": "pull_object",
    "ConfirmMessageReceived": "confirm_message_received",
    "PushMessages": "push_messages",
    "PushObject": "push_object",
    "PushTaskOutput": "push_task_output",
}


class Shortly:
    """What the agent asks the SuperNode, as Flower's client of HTTP has it.

    Parameters
    ----------
    state : NodeState
        Of the SuperNode.
    token : str
        Of the task; empty for a call that gets one.
    """

    def __init__(self, state: Any, token: str = "") -> None:
        self._state, self._token = state, token

    def AcquireTask(self, request: Any) -> Any:
        """A task that waits."""
        return _answer(importlib.import_module(_HANDLERS).acquire_task, request, self._state)

    def SendTaskHeartbeat(self, request: Any) -> Any:
        """Say that the task is worked on."""
        return _answer(importlib.import_module(_COMMON).send_task_heartbeat, request, self._state, self._task())

    def __getattr__(self, name: str) -> Callable[[Any], Any]:
        if name not in _CALLS:
            raise AttributeError(name)
        handler = getattr(importlib.import_module(_HANDLERS), _CALLS[name])
        return lambda request: _answer(handler, request, self._state, self._task())

    def close(self) -> None:
        """Nothing is open."""

    def _task(self) -> Any:
        task = self._state.get_task_by_token(self._token) if self._token else None
        if task is None:
            raise httpx.HTTPError("the SuperNode does not know the task any more")
        return task


def _answer(handler: Callable[..., Any], *asked: Any) -> Any:
    """What a handler answers, its refusals as those of HTTP."""
    from flwr.supercore.error import FlowerError

    try:
        return handler(*asked)
    except FlowerError as error:
        raise httpx.HTTPError(str(error)) from error


class ShortCalls(Patch):
    """Lets the agent know the state of the SuperNode that this process is about to run.

    Parameters
    ----------
    program : module, optional
        With the SuperNode's program; Flower's by default.

    Attributes
    ----------
    state : NodeState or None
        None before the SuperNode runs, and where the patch was not applied.
    """

    name: ClassVar = "short-calls"
    purpose: ClassVar = "the agent's calls to its own SuperNode take no way over HTTP"

    def __init__(self, program: Any = None) -> None:
        self._program = program
        self.state: Any = None

    def missing(self) -> str:
        """What of the SuperNode's program or of its answers is gone."""
        parts = [lacks(_PROGRAM, "start_client_internal", {"state_factory"})]
        parts += [lacks(_HANDLERS, name, {"request", "state", "task"}) for name in _CALLS.values()]
        parts += [lacks(_HANDLERS, "acquire_task", {"request", "state"})]
        parts += [lacks(_COMMON, "send_task_heartbeat", {"request", "state", "task"})]
        parts += [lacks("flwr.supernode.nodestate", "NodeState.get_task_by_token", {"token"})]
        parts += [lacks("flwr.supercore.error", "FlowerError")]
        return next(filter(None, parts), "")

    def apply(self) -> None:
        """Note the state when the program starts."""
        program: Any = self._program or importlib.import_module(_PROGRAM)
        start = program.start_client_internal

        @functools.wraps(start)
        def started(*given: Any, state_factory: Any, **named: Any) -> Any:
            self.state = state_factory.state()
            return start(*given, state_factory=state_factory, **named)

        program.start_client_internal = started
