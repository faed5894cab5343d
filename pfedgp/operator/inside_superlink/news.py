"""News of a SuperLink: for whom a message has arrived whole, told to the threads that wait for it."""

import threading
from collections import OrderedDict
from collections.abc import Collection

__all__ = ["News"]

ANNOUNCED = 10_000  # messages that have not come whole; the oldest is forgotten, and whoever waits looks again later


class News:
    """Counts what has arrived, by the one whom it is for."""

    def __init__(self) -> None:
        self._told = threading.Condition()
        self._arrived: dict[str, int] = {}
        self._stirred: dict[str, int] = {}
        self._lacking: OrderedDict[int, tuple[str, set[str]]] = OrderedDict()  # by an own number

    def count(self, whose: str) -> int:
        """How many messages have arrived for someone."""
        with self._told:
            return self._arrived.get(whose, 0)

    def stirred(self, whose: str) -> int:
        """How many messages have been stored for someone, whole or not."""
        with self._told:
            return self._stirred.get(whose, 0)

    def announce(self, whose: str, lacking: Collection[str]) -> None:
        """A message for someone is stored, but for the objects with these ids."""
        with self._told:
            self._stirred[whose] = self._stirred.get(whose, 0) + 1
            if not lacking:
                self._tell(whose)
                return
            self._lacking[next(reversed(self._lacking), 0) + 1] = whose, set(lacking)
            if len(self._lacking) > ANNOUNCED:
                self._lacking.popitem(last=False)

    def stored(self, object_id: str) -> None:
        """An object is stored; it may be one of several messages."""
        with self._told:
            whole = []
            for number, (whose, lacking) in self._lacking.items():
                lacking.discard(object_id)
                if not lacking:
                    whole.append((number, whose))
            for number, whose in whole:
                del self._lacking[number]
                self._tell(whose)

    def wait(self, whose: str, former: int, seconds: float) -> bool:
        """Wait until more than `former` messages have arrived for someone, at most so long; whether they have."""
        with self._told:
            return self._told.wait_for(lambda: self._arrived.get(whose, 0) != former, seconds)

    def _tell(self, whose: str) -> None:
        self._arrived[whose] = self._arrived.get(whose, 0) + 1
        self._told.notify_all()
