"""The worker processes of a simulation as its driver sees them: started, asked, and started again where one dies."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.reduction import send_handle
from typing import IO, Any

from flwr.app import Context, Message

from pfedgp.local.pool.line import Line, make_line
from pfedgp.local.pool.nursery import Order, Task
from pfedgp.local.pool.worker import Answer
from pfedgp.processes.child import signal_group, start_child
from pfedgp_core.errors import RunFailedError

__all__ = ["Crew", "Worker", "WorkerEndedError"]

# Threads of the libraries below torch would be copied by a fork, or rather lost in it.
ONE_THREAD = dict.fromkeys(("MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


class WorkerEndedError(Exception):
    """A worker process ended while it was asked."""


class Worker:
    """One place in the pool, and the process that holds it now.

    Parameters
    ----------
    index : int
    """

    def __init__(self, index: int) -> None:
        self.index, self.pid = index, 0
        self._line: Line | None = None

    def take(self, line: Line, pid: int) -> None:
        """From now on it is this process."""
        self.leave()
        self._line, self.pid = line, pid

    def leave(self) -> None:
        """Close the line; the process ends then."""
        if self._line is not None:
            self._line.close()

    def ask(self, message: Message, context: Context) -> Answer:
        """Let the process answer a message; WorkerEndedError where it ends instead."""
        assert self._line is not None
        try:
            self._line.send((message, context))
            answer: Answer = self._line.recv()
        except (EOFError, OSError) as error:
            raise WorkerEndedError from error
        return answer


class Crew:
    """The nursery and the workers that come from it.

    Parameters
    ----------
    task : Task
    enter : callable
        Called in each new process with its place in the pool.
    size : int
        Number of workers.
    """

    def __init__(self, task: Task, enter: Callable[[int], None], size: int) -> None:
        self._task, self._enter = task, enter
        self.workers = [Worker(index) for index in range(size)]
        self.ended = False
        self._nursery: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()  # of the connection to the nursery
        self._control, self._other = Pipe()
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `end`)

    def start(self) -> None:
        """Start the nursery and let it load; the workers follow with `hire`, which waits for that."""
        path = os.pathsep.join(sys.path)
        command = [sys.executable, "-P", "-m", "pfedgp.local.pool.nursery", str(self._other.fileno())]
        environment = os.environ | ONE_THREAD | {"PYTHONPATH": path}
        self._nursery = start_child(command, environment, self._said, files=[self._other.fileno()])
        self._other.close()
        self._control.send(self._task)

    def hire(self) -> None:
        """Start all workers.

        Raises
        ------
        RunFailedError
            What they run does not load, or the process that they come from has ended.
        """
        with self._lock:
            if problem := self._hears():
                raise RunFailedError(f"The workers of the simulation do not start: {_last_line(problem)}.")
        for worker in self.workers:
            self.replace(worker)

    def replace(self, worker: Worker) -> int:
        """Start a process in the place of a worker, and return the exit code of the former one.

        Raises
        ------
        RunFailedError
            The process that they come from has ended.
        """
        ours, other = make_line()
        with self._lock:
            assert self._nursery is not None
            if self.ended:
                raise RunFailedError("The workers of the simulation have been ended.")
            with suppress(OSError):  # an end is named by the one who listens
                self._control.send(Order(worker.index, self._enter, worker.pid))
                for file in other.files():
                    send_handle(self._control, file, self._nursery.pid)
            other.close()
            pid, code = self._hears()
        worker.take(ours, pid)
        return int(code)

    def processes(self) -> list[int]:
        """Ids of the processes that there are: the nursery and the workers."""
        pids = [worker.pid for worker in self.workers if worker.pid]
        return pids if self._nursery is None else [self._nursery.pid, *pids]

    def end(self) -> None:
        """End all processes at once; what a worker does at the moment is lost."""
        if self.ended:
            return
        self.ended = True
        if self._nursery is not None:
            signal_group(self._nursery, signal.SIGKILL)
            self._nursery.wait()
        with self._lock:  # who waits for the nursery hears of its end
            self._control.close()
            self._said.close()
        for worker in self.workers:
            worker.leave()

    def _hears(self) -> Any:
        try:
            return self._control.recv()
        except (EOFError, OSError):
            assert self._nursery is not None
            self._said.seek(0)
            said = self._said.read().decode("utf-8", "replace")
            code = self._nursery.wait()
            raise RunFailedError(
                f"The process that the workers come from has ended ({ending(code)}): {_last_line(said)}."
            ) from None


def ending(code: int) -> str:
    """Say how a process ended."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else "see whether the machine has memory left"
