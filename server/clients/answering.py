"""Clients that do not answer: silent ones must answer a greeting first, repeated failures are named."""

import logging
from collections import Counter

__all__ = ["Answering"]

logger = logging.getLogger("pfedgp.server")

# Life of the first greeting of a client that fell silent; each further one lives twice as long.
SILENT_GREETING = 20.0
# Failures of one client in a row after which a warning names it.
FAILURES_TO_NAME = 3


class Answering:
    """What is known about each client's answers, by its name.

    Parameters
    ----------
    longest : float
        Seconds that a greeting lives at most.

    Attributes
    ----------
    changes : int
        Grows where `awaited` may have changed.
    """

    def __init__(self, longest: float) -> None:
        self.longest, self.changes = longest, 0
        self._silent: dict[str, float] = {}  # name of a client that must answer first -> life of its next greeting
        self._stale: set[str] = set()  # names of clients to greet anew while they take part
        self._failures: Counter[str] = Counter()  # in a row

    def awaited(self, name: str) -> bool:
        """Whether a client is asked for nothing until it answers a greeting."""
        return name in self._silent

    @property
    def settled(self) -> bool:
        """Whether no client is to be greeted."""
        return not self._silent and not self._stale

    def silent(self, name: str) -> None:
        """Ask a client for nothing more until it answers a greeting: it did not reply in time."""
        if name not in self._silent:
            logger.warning("%s is silent, and is asked again once it answers a greeting", name)
            self._silent[name] = SILENT_GREETING
            self.changes += 1

    def left(self, name: str) -> None:
        """A client's node disconnected; once it is back, it has to answer a greeting first."""
        self._silent[name] = SILENT_GREETING
        self.changes += 1

    def failed(self, name: str, reason: str, anew: bool) -> None:
        """Count a failure of a client in a round; several in a row are named.

        Parameters
        ----------
        name, reason : str
        anew : bool
            It may have other data now than it presented itself with, and is greeted anew.
        """
        self._failures[name] += 1
        if self._failures[name] == FAILURES_TO_NAME:
            logger.warning(
                "%s failed %d times in a row (last: %s): see the log of that client", name, FAILURES_TO_NAME, reason
            )
        if anew:
            self._stale.add(name)

    def succeeded(self, name: str) -> None:
        """A client replied as it should."""
        self._failures.pop(name, None)

    def failures(self, name: str) -> int:
        """Failures of a client in a row, up to now."""
        return self._failures[name]

    def greeting(self, name: str) -> float | None:
        """Seconds that a greeting of a known client lives; None where it needs none."""
        if name in self._silent or name in self._stale:
            return self._silent.get(name, SILENT_GREETING)
        return None

    def greeted(self, name: str) -> None:
        """A greeting is on its way to a client."""
        self._stale.discard(name)
        if name in self._silent:
            self._silent[name] = min(2 * self._silent[name], self.longest)

    def answered(self, name: str) -> None:
        """A client answered a greeting."""
        self._silent.pop(name, None)
        self.changes += 1
