"""Words for sites that are refused or whose reply was: sent to the site itself, so that its own operator reads them."""

from collections.abc import Collection

from flwr.app import ConfigRecord
from flwr.serverapp import Grid

from pfedgp_core.wire.names import NOTICE
from pfedgp_core.wire.notice import notice
from server.flower.messages import push, request

__all__ = ["Notices"]

LIFE = 60.0  # seconds that a notice waits for a site
WAITING_LIMIT = 1000  # nodes with words that were not sent yet


class Notices:
    """The last words for each node, until they are sent. Nothing waits for an answer."""

    def __init__(self) -> None:
        self._waiting: dict[int, tuple[str, bool]] = {}

    def tell(self, node: int, words: str, refused: bool) -> None:
        """Keep words for a node until the next `send`."""
        if node in self._waiting or len(self._waiting) < WAITING_LIMIT:
            self._waiting[node] = words, refused

    def send(self, grid: Grid, connected: Collection[int]) -> None:
        """Send what waits to the nodes that are connected; what others should have heard is forgotten."""
        messages = [
            request(NOTICE, node, ConfigRecord(notice(words, refused)), None, LIFE)
            for node, (words, refused) in sorted(self._waiting.items())
            if node in connected
        ]
        self._waiting = {}
        if messages:
            push(grid, messages)
