"""The safety patches of Flower's grid in a deployment, and the grid that a run uses."""

import importlib
from collections.abc import Callable
from typing import Any, ClassVar

from flwr.serverapp import Grid

from pfedgp_core.patch import Patch, lacks, refuse_lost
from server.flower.grid import PatientGrid

__all__ = ["SERVER_PATCHES", "ReadableReplies", "RepliesInTime", "RetriesEnd", "guarded"]

_GRID = "flwr.superlink.grid.http_grid"
_OBJECTS = "flwr.supercore.inflatable.inflatable_utils"


class RepliesInTime(Patch):
    """Replies whose objects never come: `DeployedGrid` gives them up when the exchange ends."""

    name: ClassVar = "replies-in-time"
    purpose: ClassVar = "a reply that never comes whole does not hold the run for two hours"
    safety: ClassVar = True

    def missing(self) -> str:
        """What of Flower's grid and its objects is gone."""
        limits = {"max_time", "max_tries_per_object", "initial_backoff", "backoff_cap"}
        return (
            lacks(_GRID, "HttpGrid._runtime_client")
            or lacks("flwr.supercore.runtime", "RuntimeHttpClient.PullMessages")
            or lacks("flwr.supercore.runtime", "RuntimeHttpClient.ConfirmMessageReceived")
            or lacks("flwr.supercore.inflatable.inflatable_object", "iterate_object_tree")
            or lacks("flwr.supercore.inflatable.inflatable_protobuf_utils", "make_pull_object_fn_protobuf")
            or lacks(_OBJECTS, "ObjectPullError")
            or lacks(_OBJECTS, "pull_objects", limits)
            or _grid_lacks()
        )


class ReadableReplies(Patch):
    """Replies that cannot be read: `DeployedGrid` makes them error replies of their senders."""

    name: ClassVar = "readable-replies"
    purpose: ClassVar = "a reply that cannot be read costs its sender its place and not the run its life"
    safety: ClassVar = True

    def missing(self) -> str:
        """What of Flower's messages is gone."""
        return (
            lacks(_OBJECTS, "inflate_object_from_contents", {"object_id", "object_contents"})
            or lacks("flwr.app.message", "make_message", {"metadata", "error"})
            or lacks("flwr.common.serde", "metadata_from_proto")
        )


class RetriesEnd(Patch):
    """Flower's grid tries silently and without end to reach its SuperLink: here it says so, and ends.

    This is set on Flower's own grid, because its connection also carries the heartbeats and the log of the server app's
    process. A connection of our own would end, and those would go on trying.

    Parameters
    ----------
    grid : HttpGrid, optional
        The grid of a run; by default one that is connected to nothing, to look at.
    note : callable, optional
        Hears of each failed try, with the error; what it raises ends the tries.
    seconds : float
        After which Flower's own tries end.
    """

    name: ClassVar = "retries-end"
    purpose: ClassVar = "a SuperLink that stays away is named, and ends the run after some minutes"
    safety: ClassVar = True

    def __init__(
        self, grid: Any = None, note: Callable[[Exception | None], None] | None = None, seconds: float = 600.0
    ) -> None:
        self._grid, self._note_error, self._seconds = grid, note, seconds

    def missing(self) -> str:
        """What of the grid's tries is gone."""
        try:
            grid = self._grid or _unconnected()
            unknown = [name for name in ("max_time", "on_backoff") if not hasattr(grid._retry_invoker, name)]
            carried = grid._runtime_client._retry_invoker is grid._retry_invoker
        except (ImportError, AttributeError, TypeError) as error:
            return f"{_GRID}.HttpGrid is another ({error})"
        if unknown:
            return f"the retries of HttpGrid have no {', '.join(unknown)}"
        return "" if carried else "the connection of HttpGrid does not use its retries"

    def apply(self) -> None:
        """Give the grid's tries the word and the end."""
        invoker, note = self._grid._retry_invoker, self._note_error
        former = invoker.on_backoff

        def on_backoff(state: Any) -> None:
            if former is not None:
                former(state)
            if note is not None:
                note(getattr(state, "exception", None))

        invoker.max_time, invoker.on_backoff = self._seconds, on_backoff


SERVER_PATCHES: tuple[Patch, ...] = (RepliesInTime(), ReadableReplies(), RetriesEnd())


def _is_deployed(grid: Any) -> bool:
    """Whether a grid is Flower's own to a SuperLink, under whatever name; not a simulation's, and not a test's."""
    kind = type(grid)
    return kind.__module__.partition(".")[0] == "flwr" and kind.__name__ != "InMemoryGrid"


def guarded(grid: Grid) -> PatientGrid:
    """Return the grid that a run uses, around the one that Flower gives the server app.

    Raises
    ------
    ConfigError
        The grid is that of a deployment, and the installed Flower lacks what makes it safe.
    """
    if not _is_deployed(grid):
        return PatientGrid(grid)
    refuse_lost(SERVER_PATCHES)
    from server.flower.deployed_grid import DeployedGrid

    patient = PatientGrid(DeployedGrid(grid))
    retries = RetriesEnd(grid, patient.note, patient.give_up_after)
    refuse_lost([retries])
    retries.apply()
    return patient


def _grid_lacks() -> str:
    """Whatever else keeps `DeployedGrid` from being loaded."""
    try:
        importlib.import_module("server.flower.deployed_grid")
    except ImportError as error:
        return str(error)
    return ""


def _unconnected() -> Any:
    from flwr.superlink.grid.http_grid import HttpGrid

    return HttpGrid("127.0.0.1:9", insecure=True, token="none")  # noqa: S106 (it is never connected)
