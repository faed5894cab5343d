"""The task of a process: Flower's messages take task, run and node from a variable of the process."""

from typing import Any, ClassVar

from pfedgp_core.patch import Patch, lacks

__all__ = ["TaskName"]

_MODULE = "flwr.supercore.task_identity"


class TaskName(Patch):
    """Sets the identity that Flower's own client process would set when it starts for one message.

    Parameters
    ----------
    identity : tuple of int
        Task, run and node.
    """

    name: ClassVar = "task-name"
    purpose: ClassVar = "a reply of the worker carries the run and the node of its request"
    safety: ClassVar = True

    def __init__(self, identity: tuple[int, int, int] = (0, 0, 0)) -> None:
        self._identity = identity

    def missing(self) -> str:
        """Which part of the identity is gone."""
        if gone := lacks(_MODULE, "TaskIdentity"):
            return gone
        kind: Any = type(_identity())
        unknown = [name for name in ("task_id", "run_id", "node_id") if not hasattr(kind, name)]
        return f"{_MODULE}.TaskIdentity has no {', '.join(unknown)}" if unknown else ""

    def apply(self) -> None:
        """Set the identity of this process."""
        identity = _identity()
        identity.task_id, identity.run_id, identity.node_id = self._identity


def _identity() -> Any:
    from flwr.supercore.task_identity import TaskIdentity

    return TaskIdentity
