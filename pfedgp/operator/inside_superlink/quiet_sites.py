"""Sites for which a look has found nothing, and nothing has come since: the next look need not ask the database."""

import threading
import time
from typing import Any

__all__ = ["SURE", "QuietSites"]

SURE = 60.0  # seconds; whatever comes by a way that is not heard of is found after them


class QuietSites:
    """The empty answers to looks, by whom they are for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: dict[str, tuple[int, float, Any]] = {}

    def answer(self, whose: str, stirred: int) -> Any:
        """The last empty answer, if it still holds; else None.

        Parameters
        ----------
        whose : str
        stirred : int
            How much has come for it, counted before this look (`News.stirred`).
        """
        with self._lock:
            former, since, answer = self._last.get(whose, (-1, 0.0, None))
        return answer if former == stirred and time.monotonic() - since < SURE else None

    def keep(self, whose: str, stirred: int, answer: Any) -> None:
        """Remember an empty answer of the database, and what had come before it was asked."""
        with self._lock:
            self._last[whose] = stirred, time.monotonic(), answer
