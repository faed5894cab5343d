"""The process that the workers come from: it loads the app and the data once, and forks a worker when it is told to.

The driver of a simulation has threads and may have used a GPU, and a fork of such a process can hang. A worker that
starts on its own loads torch and the data again, which takes seconds and memory. So the driver starts this process,
which has one thread and shares what it has loaded with all workers until they write to it. As a program,
``nursery.py CONNECTION`` serves the driver at the other end of an inherited socket.
"""

import gc
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle

from flwr.clientapp import ClientApp

from pfedgp.local.pool.line import Line
from pfedgp.local.pool.worker import serve
from pfedgp.processes.parent import end_with_parent

__all__ = ["Order", "Task"]

PATIENCE = 5.0  # seconds until a worker that has closed its connection and does not end is killed


@dataclass(frozen=True)
class Task:
    """What the workers of one simulation do.

    Attributes
    ----------
    load_app : callable
        Returns the ClientApp; pickled by its name.
    prepare : callable
        Loads what all workers share.
    """

    load_app: Callable[[], ClientApp]
    prepare: Callable[[], None]


@dataclass(frozen=True)
class Order:
    """Of a worker.

    Attributes
    ----------
    index : int
        Its place in the pool.
    enter : callable
        Called in the new process, with its place, before it serves.
    former : int
        Process id of the worker that had this place and is gone; 0: there was none.
    """

    index: int
    enter: Callable[[int], None]
    former: int = 0


def main(number: int) -> None:
    """Load, say whether that worked, and fork workers until the driver closes its end.

    Parameters
    ----------
    number : int
        File descriptor of the connection to the driver.
    """
    control = Connection(number)
    try:
        task: Task = control.recv()
        app = task.load_app()
        task.prepare()
    except BaseException:  # noqa: BLE001 (the driver says it)
        control.send(traceback.format_exc())
        return
    gc.collect()
    gc.freeze()  # the collector would write to all that the workers share
    control.send("")
    while True:
        try:
            order: Order = control.recv()
            read, write, shelf = (recv_handle(control) for _ in range(3))
            line = Line(read, write, shelf, first=False)
        except EOFError:
            return
        ended = _end_of(order.former) if order.former else 0
        nursery = os.getpid()
        pid = os.fork()
        if pid == 0:
            _work(order, line, control, app, nursery)
        line.close()
        control.send((pid, ended))


def _work(order: Order, line: Line, control: Connection, app: ClientApp, nursery: int) -> None:
    """Be a worker; does not return."""
    try:
        end_with_parent(nursery)
        control.close()
        order.enter(order.index)
        serve(line, app)
    except BaseException:  # noqa: BLE001 (nothing of the nursery may run on in this process)
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _end_of(pid: int) -> int:
    """Wait for a worker, and return its exit code; that of a signal is negative."""
    deadline = time.monotonic() + PATIENCE
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


if __name__ == "__main__":
    main(int(sys.argv[1]))
