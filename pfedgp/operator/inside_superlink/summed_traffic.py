"""Traffic is written once a second: Flower's SuperLink adds the bytes of each object to its run's row in the database.

A model of 45 MB is nine objects, and each of these a transaction that waits for those of others. Here the bytes are
summed and written a second later, and before whoever asks for runs reads them. A SuperLink that ends writes what is
left; one that is killed loses the count of its last second.
"""

import functools
import importlib
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from pfedgp_core.patch import Patch, lacks

__all__ = ["EVERY", "SummedTraffic"]

logger = logging.getLogger("pfedgp.server")

EVERY = 1.0  # seconds
_STATES = "flwr.server.superlink.linkstate"
_COUNT, _READ = "store_traffic", "get_run_info"
_PROGRAM, _END = "flwr.superlink.cli.flower_superlink", "SuperLinkLifespan"


class SummedTraffic(Patch):
    """Lets the SuperLink of this process write the traffic of its runs once in `EVERY` seconds.

    Parameters
    ----------
    states : class, optional
        Of states in a database; Flower's by default.
    program : class, optional
        Whose ``shutdown`` ends the SuperLink; Flower's by default.
    """

    name: ClassVar = "summed-traffic"
    purpose: ClassVar = "the bytes of an object take no transaction of the SuperLink's database"

    def __init__(self, states: Any = None, program: Any = None) -> None:
        self._states, self._program = states, program

    def missing(self) -> str:
        """Whether what counts traffic, what reads it, or what ends the SuperLink is gone."""
        return (
            lacks(_STATES, f"SqlLinkState.{_COUNT}", {"run_id", "bytes_sent", "bytes_recv"})
            or lacks(_STATES, f"SqlLinkState.{_READ}")
            or lacks(_PROGRAM, f"{_END}.shutdown", {"self"})
        )

    def apply(self) -> None:
        """Replace all three."""
        states: Any = self._states or importlib.import_module(_STATES).SqlLinkState
        program: Any = self._program or getattr(importlib.import_module(_PROGRAM), _END)
        sums = _Sums(getattr(states, _COUNT))
        setattr(states, _COUNT, sums.counting())
        setattr(states, _READ, sums.written_before(getattr(states, _READ)))
        program.shutdown = sums.written_after(program.shutdown)


@dataclass
class _Sum:
    """Bytes of a run that are not written yet, and the state that writes them."""

    state: Any
    sent: int = 0
    received: int = 0


class _Sums:
    """What is not written yet, by database and run."""

    def __init__(self, write: Callable[..., None]) -> None:
        self._count = write
        self._lock = threading.Lock()
        self._known = set[tuple[str, int]]()  # runs that are in the database
        self._waiting: dict[tuple[str, int], _Sum] = {}
        self._timed = self._failed = self._ended = False

    def counting(self) -> Callable[..., None]:
        @functools.wraps(self._count)
        def store_traffic(state: Any, run_id: int, *, bytes_sent: int, bytes_recv: int) -> None:
            of = str(getattr(state, "database_url", "")), run_id
            sound = bytes_sent >= 0 and bytes_recv >= 0 and bytes_sent + bytes_recv > 0
            if not (sound and of in self._known and self._add(of, state, bytes_sent, bytes_recv)):
                self._count(state, run_id, bytes_sent=bytes_sent, bytes_recv=bytes_recv)  # or its ValueError
                self._known.add(of)

        return store_traffic

    def written_before(self, read: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(read)
        def reading(*given: Any, **named: Any) -> Any:
            self.write()
            return read(*given, **named)

        return reading

    def written_after(self, end: Callable[[Any], None]) -> Callable[[Any], None]:
        @functools.wraps(end)
        def ending(program: Any) -> None:
            try:
                end(program)
            finally:
                with self._lock:
                    self._ended = True  # calls that still come write their own
                self.write()

        return ending

    def write(self) -> None:
        """Write all that waits; what cannot be written goes on to wait."""
        with self._lock:
            taken, self._waiting = self._waiting, {}
        for of, left in taken.items():
            try:
                self._count(left.state, of[1], bytes_sent=left.sent, bytes_recv=left.received)
                self._failed = False
            except Exception as error:  # noqa: BLE001 (whoever reads, or ends, is not to suffer from it)
                if not self._failed:
                    logger.warning("The traffic of a run is not written yet (%s).", type(error).__name__)
                self._failed = True
                self._add(of, left.state, left.sent, left.received)

    def _add(self, of: tuple[str, int], state: Any, sent: int, received: int) -> bool:
        """Let these bytes wait; False where nobody would write them any more."""
        with self._lock:
            if self._ended:
                return False
            waits = self._waiting.setdefault(of, _Sum(state))
            waits.sent, waits.received = waits.sent + sent, waits.received + received
            if not self._timed:
                timer = threading.Timer(EVERY, self._on_time)
                timer.daemon = True
                with suppress(RuntimeError):  # no thread is to be had: the next call tries again
                    timer.start()
                    self._timed = True
        return True

    def _on_time(self) -> None:
        with self._lock:
            self._timed = False
        self.write()
