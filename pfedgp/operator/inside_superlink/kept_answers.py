"""Answers of a database that are kept for seconds, and forgotten at once by whatever changes them in this process."""

import functools
import threading
import time
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

__all__ = ["KeptAnswers"]

MOST = 10_000  # answers
_Answer = TypeVar("_Answer")


class KeptAnswers(Generic[_Answer]):
    """Answers by question, and since when.

    Parameters
    ----------
    seconds : float
        For how long; where another process changes the database, an answer is as old at most.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._found: dict[Hashable, tuple[_Answer, float]] = {}
        self._changes = 0

    def answer(self, question: Hashable, look: Callable[[], _Answer], lasts: Callable[[_Answer], bool]) -> _Answer:
        """What is kept, or what `look` finds, which is kept where it `lasts`."""
        now = time.monotonic()
        with self._lock:
            changes, found = self._changes, self._found.get(question)
        if found and now - found[1] < self._seconds:
            return found[0]
        answer = look()
        with self._lock:
            if lasts(answer) and changes == self._changes:  # else it may have been read before a change
                if len(self._found) >= MOST:
                    self._found.clear()
                self._found[question] = answer, now
        return answer

    def forgotten_by(self, change: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, after which nothing is kept."""

        @functools.wraps(change)
        def forgetting(*given: Any, **named: Any) -> Any:
            try:
                return change(*given, **named)
            finally:
                with self._lock:
                    self._changes += 1
                    self._found.clear()

        return forgetting
