"""The replies of one exchange, checked one by one as they come, so that no two of them are held with their vectors."""

import logging
from collections.abc import Callable, Collection, Sequence
from typing import Generic

from flwr.app import Message
from flwr.common.constant import ErrorCode

from pfedgp_core.errors import DataError
from server.exchanged import Asked
from server.flower.reply_checks import Accepted, Checked, Reply

__all__ = ["Intake"]

logger = logging.getLogger("pfedgp.server")


class Intake(Generic[Reply]):
    """Sorts the replies to some requests into usable and failed ones.

    Parameters
    ----------
    asked : sequence of Asked
    read : callable
        A reply and what was asked -> what it holds; a DataError says why it cannot be used.
    timeout : float
        Seconds that the exchange waits, for the reason of a client that does not answer.
    """

    def __init__(
        self, asked: Sequence[Asked], read: Callable[[Message, Asked], Accepted[Reply]], timeout: float
    ) -> None:
        self._asked, self._read, self._timeout = asked, read, timeout
        self._by_request: dict[str, Asked] = {}
        self._accepted: dict[str, Accepted[Reply]] = {}
        self._failed: dict[str, str] = {}

    def take(self, reply: Message) -> tuple[Asked, Accepted[Reply]] | None:
        """Check a reply; returns what was asked and what it holds, where it is usable and to one of these requests."""
        asked = self._request(reply.metadata.reply_to_message_id)
        if asked is None or asked.client.name in self._accepted or asked.client.name in self._failed:
            return None
        name = asked.client.name
        if reply.has_error() and reply.error.code == ErrorCode.MESSAGE_UNAVAILABLE:
            return None  # the SuperLink's word that the request has expired: as good as no reply
        try:
            accepted = self._read(reply, asked)
        except DataError as error:
            self._failed[name] = str(error)
        except Exception as error:  # whatever a reply holds, it costs its sender alone
            logger.exception("the reply of %s broke a check", name)
            self._failed[name] = f"a reply that cannot be read ({type(error).__name__})"
        else:
            self._accepted[name] = accepted
            return asked, accepted
        return None

    @property
    def counts(self) -> tuple[int, int, int]:
        """Clients that were asked, that have answered up to now, and of those the usable answers."""
        return len(self._asked), len(self._accepted) + len(self._failed), len(self._accepted)

    def waiting(self) -> list[Asked]:
        """What was asked and not answered up to now."""
        return [a for a in self._asked if a.client.name not in self._accepted and a.client.name not in self._failed]

    def checked(self, late: Collection[str] = ()) -> Checked[Reply]:
        """The outcome of each client that was asked, in that order; one that did not answer has failed.

        Those named in `late`, for whom nobody waits, have neither answered nor failed.
        """
        result: Checked[Reply] = Checked()
        for client, _, _ in self._asked:
            if client.name in late:
                continue
            if client.name in self._accepted:
                result.accepted[client.name] = self._accepted[client.name]
                continue
            if client.name not in self._failed:
                result.silent.add(client.name)
            result.failed[client.name] = self._failed.get(client.name, f"no reply within {self._timeout:g} s")
        return result

    def _request(self, message_id: str) -> Asked | None:
        """By the request's id, because an error reply that the SuperLink makes does not carry the client's node id."""
        if message_id not in self._by_request:  # requests have their ids once they are sent, which may be just now
            self._by_request = {asked.message.metadata.message_id: asked for asked in self._asked}
        return self._by_request.get(message_id)
