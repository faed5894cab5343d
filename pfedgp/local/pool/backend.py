"""Flower's back end of a simulation on a pool of processes of this machine."""

import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue

from flwr.app import Context, Message
from flwr.clientapp import ClientApp
from flwr.server.superlink.fleet.vce.backend import Backend

from pfedgp.local.pool.crew import Crew, Worker, WorkerEndedError, ending
from pfedgp.local.pool.nursery import Task
from pfedgp.local.pool.stopped import StoppedProcesses
from pfedgp_core.errors import PFedGPError

__all__ = ["PoolBackend", "PoolEndedError"]

logger = logging.getLogger("pfedgp.simulation")


class PoolEndedError(Exception):
    """The pool has been ended while it worked on a message."""


class PoolBackend(Backend):
    """Hands messages to worker processes; a drop-in for Flower's ``RayBackend``.

    Parameters
    ----------
    workers : int
        Processes, each with one message at a time.
    prepare : callable
        Loads what all workers share; pickled by its name.
    enter : callable
        Called in each new process with its place in the pool.
    """

    def __init__(self, workers: int, prepare: Callable[[], None], enter: Callable[[int], None]) -> None:
        self._size, self._prepare, self._enter = workers, prepare, enter
        self._crew: Crew | None = None
        self._stopped: StoppedProcesses | None = None
        self._idle: SimpleQueue[Worker] = SimpleQueue()
        self._lock = threading.Lock()
        self.client_seconds = 0.0  # of CPU, that the ClientApp has used

    def build(self, app_fn: Callable[[], ClientApp]) -> None:
        """Start the processes; `wait_ready` waits until they serve.

        Parameters
        ----------
        app_fn : callable
            Returns the ClientApp; pickled by its name.
        """
        self._crew = Crew(Task(app_fn, self._prepare), self._enter, self._size)
        self._crew.start()

    def wait_ready(self) -> None:
        """Wait until all workers serve; RunFailedError where they do not start."""
        assert self._crew is not None
        self._crew.hire()
        for worker in self._crew.workers:
            self._idle.put(worker)
        self._stopped = StoppedProcesses(self._crew.processes)
        self._stopped.start()

    @property
    def num_workers(self) -> int:
        """Messages that can be worked on at a time."""
        return self._size

    def is_worker_idle(self) -> bool:
        """Whether a worker waits for a message."""
        return not self._idle.empty()

    def process_message(self, message: Message, context: Context) -> tuple[Message, Context]:
        """Let a worker answer a message; called by as many threads as there are workers.

        A worker that dies is started again, and its message is tried once more.

        Returns
        -------
        reply : Message
        context : Context
            Of the client, after the message.

        Raises
        ------
        WorkerEndedError
            The second worker died as well.
        PoolEndedError
            `terminate` was called meanwhile.
        RunFailedError
            No worker can be started any more.
        """
        worker = self._idle.get()
        try:
            for last in (False, True):
                try:
                    reply, context, seconds = worker.ask(message, context)
                except WorkerEndedError:
                    self._lost(worker, message, context, last)
                    continue
                with self._lock:
                    self.client_seconds += seconds
                return reply, context
            raise WorkerEndedError
        finally:
            self._idle.put(worker)

    def terminate(self) -> None:
        """End all processes at once."""
        if self._stopped is not None:
            self._stopped.end()
        if self._crew is not None:
            self._crew.end()

    def _lost(self, worker: Worker, message: Message, context: Context, last: bool) -> None:
        """Start a worker again, and say what became of it."""
        assert self._crew is not None
        try:
            code = self._crew.replace(worker)
        except PFedGPError:
            if self._crew.ended:
                raise PoolEndedError from None
            raise
        client = context.node_config.get("partition-id", context.node_id)
        logger.warning(
            "a worker process ended (%s) with a %s request to client %s: it is started again, and the request %s",
            *(ending(code), message.metadata.message_type, client, "fails" if last else "is repeated"),
        )
