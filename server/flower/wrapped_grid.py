"""A grid around another grid: the whole interface of Flower's ``Grid``, each call passed on."""

import time
from collections.abc import Iterable
from typing import Any

from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

__all__ = ["WrappedGrid"]

LOOK_EVERY = 0.2  # seconds


class WrappedGrid(Grid):
    """Passes all on to a grid; derived classes change single calls.

    Parameters
    ----------
    grid : Grid
    """

    def __init__(self, grid: Grid) -> None:
        self._grid = grid

    def __getattr__(self, name: str) -> Any:
        if name == "_grid":  # not there yet
            raise AttributeError(name)
        return getattr(self._grid, name)

    def set_run(self, run: Any) -> None:
        """Set the run that the grid serves."""
        self._grid.set_run(run)

    @property
    def run(self) -> Any:
        """The run that the grid serves."""
        return self._grid.run

    def create_message(
        self, content: RecordDict, message_type: str, dst_node_id: int, group_id: str, ttl: float | None = None
    ) -> Message:
        """Make a message."""
        return self._grid.create_message(content, message_type, dst_node_id, group_id, ttl)

    def get_node_ids(self) -> Iterable[int]:
        """Ids of connected nodes."""
        return self._grid.get_node_ids()

    def get_nodes(self) -> Iterable[Any]:
        """Connected nodes, with what the SuperLink knows of them."""
        return self._grid.get_nodes()

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Send, and return the ids of what was accepted."""
        return self._grid.push_messages(messages)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Replies that have arrived to these requests."""
        return self._grid.pull_messages(message_ids)

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        """Send requests, and collect replies until all are there or `timeout` seconds have passed.

        The server app uses ``server.flower.messages.exchange``; this is for whatever Flower calls itself, so that it
        takes the same ways of sending and collecting.
        """
        open_ids = {message_id for message_id in self.push_messages(list(messages)) if message_id}
        began, replies = time.monotonic(), list[Message]()
        while open_ids:
            arrived = list(self.pull_messages(sorted(open_ids)))
            replies += arrived
            open_ids -= {reply.metadata.reply_to_message_id for reply in arrived}
            if timeout is not None and time.monotonic() - began >= timeout:
                break
            if open_ids:
                time.sleep(LOOK_EVERY)
        return replies
