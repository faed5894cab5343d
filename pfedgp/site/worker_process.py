"""The worker's process as the agent sees it: start it, hand it requests one by one, and end it if it hangs."""

import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pfedgp.site import frames
from pfedgp.site.worker import READY
from pfedgp_core.errors import PFedGPError

__all__ = ["WorkerDied", "WorkerLate", "WorkerProcess", "WorkerUnusable"]

START_TIMEOUT = 300.0  # torch from a slow disk
STOP_TIMEOUT = 5.0


class WorkerDied(PFedGPError):
    """The worker ended while it had a request; the text says how."""


class WorkerLate(PFedGPError):
    """The worker was ended because it did not answer in time."""


class WorkerUnusable(PFedGPError):
    """The worker does not start, mostly because its app cannot be imported; the text says why."""


class WorkerProcess:
    """A child process that keeps torch, device and data, and is started anew whenever it is needed and not there.

    Parameters
    ----------
    app : str
        The ClientApp as ``module:name``; of this installation.
    started : callable
        Told the process id of every new worker.
    """

    def __init__(self, app: str, started: Callable[[int], Any] = lambda _: None) -> None:
        self.app = app
        self._started = started
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None

    @property
    def pid(self) -> int | None:
        """Process id; None where there is no worker."""
        return None if self._process is None else self._process.pid

    def ensure(self) -> bool:
        """Start a worker where there is none that lives, and wait until it has loaded its app.

        Returns
        -------
        bool
            Whether it was started by this call.

        Raises
        ------
        WorkerUnusable
            It ended, or said why it cannot load its app.
        """
        if self._process is not None and self._process.poll() is None:
            return False
        self.stop()
        ours, theirs = socket.socketpair()
        with theirs:
            self._connection = ours
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-P", "-m", "pfedgp.site.worker"),
                    *(str(theirs.fileno()), str(os.getpid()), self.app),
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )
        self._started(self._process.pid)
        ours.settimeout(START_TIMEOUT)
        try:
            word = frames.receive(ours)
        except TimeoutError:
            self.kill()
            raise WorkerUnusable(f"it did not load {self.app} within {START_TIMEOUT:g} s") from None
        except (OSError, EOFError):
            raise WorkerUnusable(f"it ended while it loaded {self.app} ({self._ending()})") from None
        if word != READY:
            self.kill()
            raise WorkerUnusable(f"it cannot load {self.app} ({word})")
        return True

    def call(
        self, request: Any, seconds: float, meanwhile: Callable[[], Any] = lambda: None, every: float = 20.0
    ) -> Any:
        """Return the worker's answer to one request.

        Parameters
        ----------
        request : object
        seconds : float
            Time to answer in.
        meanwhile : callable
            Called every `every` seconds while the worker computes.
        every : float

        Raises
        ------
        WorkerDied, WorkerLate, WorkerUnusable
            There is no answer; the next call starts another worker.
        """
        deadline = time.monotonic() + seconds
        self.ensure()
        connection = self._connection
        assert connection is not None
        try:
            connection.settimeout(max(0.1, deadline - time.monotonic()))
            frames.send(connection, request)
            while not select.select([connection], [], [], max(0.0, min(every, deadline - time.monotonic())))[0]:
                if time.monotonic() >= deadline:
                    raise TimeoutError
                meanwhile()
            connection.settimeout(max(1.0, deadline - time.monotonic()))
            return frames.receive(connection)
        except TimeoutError:
            self.kill()
            raise WorkerLate(f"it was ended after {seconds:.0f} s without an answer") from None
        except (OSError, EOFError):
            raise WorkerDied(f"it ended by itself ({self._ending()})") from None

    def kill(self) -> None:
        """End the worker at once."""
        if self._process is not None:
            self._process.kill()
        self._ending()

    def stop(self) -> None:
        """End the worker, if there is one; it ends by itself where it waits for a request."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._process is not None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_TIMEOUT)
            self.kill()

    def _ending(self) -> str:
        """Forget the worker, and say how it ended."""
        process, self._process = self._process, None
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if process is None:
            return "no process"
        try:
            code = process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()  # it closed its socket and lives on
            code = process.wait()
        return f"signal {-code}" if code < 0 else f"exit code {code}"
