"""A grid that waits for a SuperLink which is away, or answers with errors, for some minutes, and says so."""

import logging
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

from flwr.app import Message
from flwr.serverapp import Grid

from pfedgp_core.errors import PFedGPError, RunFailedError
from pfedgp_core.wire.carried import OBJECTS_FOLDER
from pfedgp_core.words import size
from server.flower.wrapped_grid import WrappedGrid

__all__ = ["GIVE_UP_AFTER", "LOG_INTERVAL", "PatientGrid"]

logger = logging.getLogger("pfedgp.server")
T = TypeVar("T")

GIVE_UP_AFTER = 600.0  # seconds
LOG_INTERVAL = 20.0
RETRY_WAIT = 1.0
_AWAY = (502, 503, 504)  # what a proxy answers for a SuperLink behind it
# Flower's refusal of an object: its push was cut off by a restart of the SuperLink, or there is no room for it.
_PUSH_REFUSED = "ObjectPushError"  # by its name, as its place may move
LITTLE = 2**26  # bytes on a disk: no room for the parts of a message and the database's log


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
        self._told = False

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
                if self._told:  # who read of no absence would not know what is back
                    logger.warning("the SuperLink is back after %.0f s", time.monotonic() - self._away_since)
                self._away_since, self._told = None, False
            return result

    def note(self, error: Exception | None) -> None:
        """Log now and then that the SuperLink is away or refuses; RunFailedError where that has lasted too long."""
        now = time.monotonic()
        if self._away_since is None:
            self._away_since, self._next_log = now, now + LOG_INTERVAL / 10
        away = now - self._away_since
        trouble = _Trouble.of(error)
        if away > self.give_up_after:
            raise RunFailedError(
                f"The SuperLink {trouble.lasting} for {away:.0f} s ({trouble.reason}): {trouble.remedy}."
            ) from error
        if now >= self._next_log:
            logger.warning("the SuperLink %s (%s), trying on", trouble.now, trouble.reason)
            self._next_log, self._told = now + LOG_INTERVAL, True


class _Trouble(NamedTuple):
    """What is wrong with a SuperLink, in words."""

    now: str
    lasting: str
    reason: str
    remedy: str

    @classmethod
    def of(cls, error: Exception | None) -> "_Trouble":
        """What an error says, and the disk, where the SuperLink is there and refuses."""
        reason = type(error).__name__
        if not _is_refusal(error):
            return cls("does not answer", "has not answered", reason, "start it again")
        erring = ("answers with errors", "has answered with errors")
        if little := _little_room():
            return cls(*erring, little, "make room there")
        return cls(*erring, reason, "its log says why, make room if its disk is full")


def _little_room() -> str:
    """What is left on the disk where the SuperLink lays objects, in words; empty where it is enough or not known."""
    folder = os.environ.get(OBJECTS_FOLDER)
    try:
        free = shutil.disk_usage(folder).free if folder else LITTLE
    except OSError:
        return ""
    return f"{size(free)} are free on the disk of {folder}" if free < LITTLE else ""


def _is_refusal(error: Exception | None) -> bool:
    """Whether the SuperLink answers, and cannot take what it is given; a proxy's word that it is away is none."""
    import httpx

    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code not in _AWAY
    return type(error).__name__ == _PUSH_REFUSED


def _is_connection(error: Exception) -> bool:
    """Whether an error comes from the connection to the SuperLink, and may pass."""
    if isinstance(error, OSError) or type(error).__name__ == _PUSH_REFUSED:
        return True
    import httpx

    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code >= 500
    return isinstance(error, httpx.TransportError)
