"""The server's audit log of a run: a line for each request that is sent and each reply that arrives."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from flwr.app import Message
from flwr.serverapp import Grid

from pfedgp_core.audit.contents import described
from pfedgp_core.audit.log import FOLDER, AuditLog, Entry
from pfedgp_core.checks import printable
from pfedgp_core.config import Settings
from pfedgp_core.policy.runs import run_hash
from pfedgp_core.site.history import user_name
from pfedgp_core.wire.names import CLIENT, CONFIG, ROUND
from server.flower.wrapped_grid import WrappedGrid

__all__ = ["AuditedGrid"]


class AuditedGrid(WrappedGrid):
    """Notes messages in ``audit`` of the run's folder, requests before they leave.

    Lines outlast the end of the process; a power failure can take the last ones.

    Parameters
    ----------
    grid : Grid
    path : Path
        The run's folder.
    settings : Settings, optional
        Of the run that starts or goes on, whose hash the log then names as sites with a policy do.
    """

    def __init__(self, grid: Grid, path: Path, settings: Settings | None = None) -> None:
        super().__init__(grid)
        self._log = AuditLog(path / FOLDER, durable=False)
        if settings is not None:
            self._log.add(("started", {"settings": run_hash(settings), "by": user_name()}))

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Send, and return the ids of what was accepted."""
        sent, known = list(messages), dict[int, bytes]()
        if sent:
            self._log.add(*(_entry("asked", message, message.metadata.dst_node_id, known) for message in sent))
        return self._grid.push_messages(sent)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterator[Message]:
        """Replies that have arrived to these requests, each noted when it is fetched."""
        for reply in self._grid.pull_messages(message_ids):
            self._log.add(_entry("received", reply, reply.metadata.src_node_id))
            yield reply


def _entry(event: str, message: Message, node: int, known: dict[int, bytes] | None = None) -> Entry:
    about: dict[str, Any] = {"kind": message.metadata.message_type, "node": str(node)}
    about["run"] = str(message.metadata.run_id)
    if message.has_error():
        return event, about | {"error": printable(str(message.error.reason or ""), 60), "code": int(message.error.code)}
    config: Mapping[str, Any] = message.content.config_records.get(CONFIG, {})
    if isinstance(number := config.get(ROUND), int):
        about["round"] = number
    if isinstance(name := config.get(CLIENT), str):
        about["client"] = printable(name, 100)
    return event, about | {"request" if event == "asked" else "reply": described(message.content, known)}
