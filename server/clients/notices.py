"""Words for sites that are refused or whose reply was: sent to the site itself, so that its own operator reads them."""

from collections.abc import Collection, Mapping

from flwr.app import ConfigRecord
from flwr.serverapp import Grid

from pfedgp_core.errors import RunFailedError
from pfedgp_core.wire.names import NOTICE
from pfedgp_core.wire.notice import notice
from server.flower.messages import exchange, push, request

__all__ = ["Notices", "tell_the_end"]

LIFE = 60.0  # seconds that a notice waits for a site
LAST_WORDS = 10.0  # seconds that a run which has to end waits for sites to read why
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


def tell_the_end(grid: Grid, names: Mapping[int, str], error: RunFailedError) -> None:
    """Let sites read why a run ends before round 1; it waits for them, as Flower drops what an ended run has sent.

    Sites of which the error says nothing read that it is so, and nothing of the others' data.

    Parameters
    ----------
    grid : Grid
    names : mapping of int to str
        Names of the sites that are there, by node.
    error : RunFailedError
        What the run's operator reads.
    """
    messages = []
    for node, name in sorted(names.items()):
        why = error.told.get(name, "its operator reads why.")
        words = notice(f"the run has ended before round 1: {why}", name in error.told)
        messages.append(request(NOTICE, node, ConfigRecord(words), None, LAST_WORDS))
    for _ in exchange(grid, messages, LAST_WORDS, dict(names)):
        pass
