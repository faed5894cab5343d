"""Processes of the pool that someone has stopped, as SIGSTOP does: the run waits for them, and says so."""

import logging
import threading
import time
from collections.abc import Callable, Collection

import psutil

__all__ = ["StoppedProcesses"]

logger = logging.getLogger("pfedgp.simulation")

UNNOTICED = 10.0  # seconds; who stops a process for less needs no line
LOOK_EVERY = 2.0


class StoppedProcesses:
    """Looks in a thread whether processes are stopped; a process that is cannot say so itself.

    Parameters
    ----------
    processes : callable
        Returns the ids of those to look at, now.
    """

    def __init__(self, processes: Callable[[], Collection[int]]) -> None:
        self._processes = processes
        self._since = dict[int, float]()  # when each stopped one was first seen so
        self._named = set[int]()
        self._over = threading.Event()

    def start(self) -> None:
        """Begin to look."""
        threading.Thread(target=self._watch, daemon=True, name="stopped processes").start()

    def end(self) -> None:
        """Look no more."""
        self._over.set()

    def look(self) -> None:
        """Name each process that has been stopped for `UNNOTICED` seconds, once, and each named one that goes on."""
        now, looked_at = time.monotonic(), self._processes()
        for pid in looked_at:
            if not _is_stopped(pid):
                continue
            since = self._since.setdefault(pid, now)
            if now - since >= UNNOTICED and pid not in self._named:
                self._named.add(pid)
                logger.warning(
                    "process %d of the simulation has been stopped for %.0f s, and the run waits for it: "
                    "kill -CONT %d lets it go on",
                    *(pid, now - since, pid),
                )
        for pid in [pid for pid in self._since if pid not in looked_at or not _is_stopped(pid)]:
            stopped = now - self._since.pop(pid)
            if pid in self._named:
                self._named.remove(pid)
                logger.warning("process %d of the simulation goes on, or has ended, after %.0f s", pid, stopped)

    def _watch(self) -> None:
        while not self._over.wait(LOOK_EVERY):
            self.look()


def _is_stopped(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_STOPPED)
    except psutil.Error:
        return False
