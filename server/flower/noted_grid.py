"""What the server tells sites that cannot take part, kept in the run's folder for the operator's page."""

from collections.abc import Iterable
from pathlib import Path

from flwr.app import Message
from flwr.serverapp import Grid

from pfedgp_core.errors import DataError
from pfedgp_core.wire.names import CONFIG, NOTICE
from pfedgp_core.wire.notice import read_notice
from server.flower.wrapped_grid import WrappedGrid
from server.run.refusals import RefusalsFile

__all__ = ["NotedGrid"]


class NotedGrid(WrappedGrid):
    """Notes the notices that pass in ``refusals.jsonl``.

    Parameters
    ----------
    grid : Grid
    path : Path
        The run's folder.
    """

    def __init__(self, grid: Grid, path: Path) -> None:
        super().__init__(grid)
        self._file = RefusalsFile(path)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Send, and return the ids of what was accepted."""
        sent = list(messages)
        for message in sent:
            if message.metadata.message_type == NOTICE:
                self._note(message)
        return self._grid.push_messages(sent)

    def _note(self, message: Message) -> None:
        try:
            words, refused = read_notice(message.content.config_records.get(CONFIG, {}))
        except DataError:
            return
        self._file.note(message.metadata.dst_node_id, words, refused)
