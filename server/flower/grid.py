"""A grid that waits for a SuperLink which is away for some minutes, and says so."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from flwr.app import Message
from flwr.serverapp import Grid

from pfedgp_core.errors import PFedGPError, RunFailedError
from server.flower.wrapped_grid import WrappedGrid

__all__ = ["GIVE_UP_AFTER", "LOG_INTERVAL", "PatientGrid"]

logger = logging.getLogger("pfedgp.server")
T = TypeVar("T")

GIVE_UP_AFTER = 600.0  # seconds
LOG_INTERVAL = 20.0
RETRY_WAIT = 1.0


class PatientGrid(WrappedGrid):
    """Passes all on to a grid, and tries again where the SuperLink does not answer.

    Flower's own grid already tries again when it cannot connect; ``server.flower.patches.RetriesEnd`` gives those tries
    a word and an end through `note`. Anything else that the connection raises is tried again here.

    Parameters
    ----------
    grid : Grid

    Attributes
    ----------
    give_up_after : float
        Seconds without an answer that end the run.
    """

    def __init__(self, grid: Grid) -> None:
        super().__init__(grid)
        self.give_up_after = GIVE_UP_AFTER
        self._away_since: float | None = None
        self._next_log = 0.0

    def get_node_ids(self) -> Iterable[int]:
        """Ids of connected nodes."""
        return self._patiently(lambda: list(self._grid.get_node_ids()))

    def get_nodes(self) -> Iterable[Any]:
        """Connected nodes, with what the SuperLink knows of them."""
        return self._patiently(lambda: list(self._grid.get_nodes()))

    def pull_messages(self, message_ids: Iterable[str]) -> Iterator[Message]:
        """Replies that have arrived, at most one to each of these requests, whatever they claim to answer."""
        open_ids = set(message_ids)
        listed = list(open_ids)
        replies = self._patiently(lambda: iter(self._grid.pull_messages(listed)))
        while (reply := self._patiently(lambda: next(replies, None))) is not None:
            if reply.metadata.reply_to_message_id in open_ids:
                open_ids.remove(reply.metadata.reply_to_message_id)
                yield reply

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Send, and return the ids of what was accepted.

        A SuperLink that could not say that it has taken a message, or lost its place within the message's objects, gets
        it a second time: it knows the message by its id, and asks for the objects that it lacks. Where it refuses the
        message then, the message counts as sent.
        """
        listed, tries = list(messages), 0

        def push() -> list[str]:
            nonlocal tries
            tries += 1
            return list(self._grid.push_messages(listed))

        sent = self._patiently(push)
        return sent if tries == 1 else [message.metadata.message_id for message in listed]

    def _patiently(self, call: Callable[[], T]) -> T:
        while True:
            try:
                result = call()
            except PFedGPError:
                raise
            except Exception as error:
                if not _is_connection(error):
                    raise
                self.note(error)
                time.sleep(RETRY_WAIT)
                continue
            if self._away_since is not None:
                logger.warning("the SuperLink is back after %.0f s", time.monotonic() - self._away_since)
                self._away_since = None
            return result

    def note(self, error: Exception | None) -> None:
        """Log now and then that the SuperLink is away; RunFailedError where that has lasted too long."""
        now = time.monotonic()
        if self._away_since is None:
            self._away_since, self._next_log = now, now + LOG_INTERVAL / 10
        away = now - self._away_since
        if away > self.give_up_after:
            raise RunFailedError(
                f"The SuperLink has not answered for {away:.0f} s ({type(error).__name__}): start it again."
            ) from error
        if now >= self._next_log:
            logger.warning("the SuperLink does not answer (%s), trying on", type(error).__name__)
            self._next_log = now + LOG_INTERVAL


def _is_connection(error: Exception) -> bool:
    """Whether an error comes from the connection to the SuperLink, and may pass."""
    # Flower's refusal of an object whose push a restart of the SuperLink has cut off; by its name, which may move.
    if isinstance(error, OSError) or type(error).__name__ == "ObjectPushError":
        return True
    import httpx

    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code >= 500
    return isinstance(error, httpx.TransportError)
