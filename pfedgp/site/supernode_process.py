"""The SuperNode's process as the supervisor sees it: start it, read its output, notice its end, and end it."""

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from pfedgp.processes.child import signal_group
from pfedgp.processes.flower import flower_environment
from pfedgp.site.flower_log import plain
from pfedgp.site.plan import SitePlan
from pfedgp_core.freed_memory import large_pages

if TYPE_CHECKING:
    import queue

__all__ = ["Heard", "SuperNodeProcess"]

STOP_TIMEOUT = 9.0  # Flower gives itself five seconds


class Heard(NamedTuple):
    """What the supervisor has to look at: a signal, a line or event of the SuperNode, its end, a diagnosis."""

    kind: str
    value: Any


class SuperNodeProcess:
    """A running SuperNode; everything that it says goes into a queue, its end last.

    Parameters
    ----------
    plan : SitePlan
    heard : SimpleQueue of Heard
    """

    def __init__(self, plan: SitePlan, heard: "queue.SimpleQueue[Heard]") -> None:
        self._heard = heard
        readable, writable = os.pipe()
        events = os.fdopen(readable, encoding="utf-8", errors="replace")
        with os.fdopen(writable, "w") as theirs:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-P", "-m", "pfedgp.site.supernode"),
                    *(plan.to_json(), str(theirs.fileno()), str(os.getpid())),
                ],
                env=flower_environment(
                    Path(plan.state) / "flwr",
                    FLWR_LOG_LEVEL="INFO",
                    FLWR_SUPEREXEC_TASK_POLL_INTERVAL="0.1",
                    **({} if plan.stock else large_pages(os.environ)),
                ),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,  # Ctrl-C is the supervisor's to handle, in order
            )
        assert self._process.stdout is not None
        self._readers = [
            threading.Thread(target=self._read_lines, args=(self._process.stdout,), daemon=True),
            threading.Thread(target=self._read_events, args=(events,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        threading.Thread(target=self._wait, daemon=True).start()

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def stop(self) -> None:
        """End it so that the server lets the same key in again at once, or by force after some seconds."""
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_TIMEOUT)
        # What a stock SuperNode started is in its group and goes with it.
        signal_group(self._process, signal.SIGKILL)
        self._process.wait()

    def _read_lines(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                self._heard.put(Heard("line", plain(line)))

    def _read_events(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                self._heard.put(Heard("event", json.loads(line)))

    def _wait(self) -> None:
        code = self._process.wait()
        for reader in self._readers:
            reader.join(2.0)
        self._heard.put(Heard("ended", code))
