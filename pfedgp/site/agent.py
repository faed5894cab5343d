"""The agent: a thread in the SuperNode's process that hands each message to the worker and the reply to the SuperNode.

It does what Flower's SuperExec and a new ``flwr-clientapp`` process do for every message of a stock SuperNode, over
the same HTTP interface. It runs nothing but the installed app: code that a run brings along is never loaded.
"""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import closing
from functools import cached_property
from typing import Any

import httpx
from flwr.app import Context, Error, Message
from flwr.common.constant import ErrorCode, SubStatus
from flwr.proto.runtime_pb2 import AcquireTaskRequest, SendTaskHeartbeatRequest
from flwr.supercore.constant import TaskType
from flwr.supercore.inflatable.inflatable_utils import ObjectPushError
from flwr.supercore.interceptors import (
    RuntimeTokenHttpInterceptor,
    RuntimeVersionHttpInterceptor,
    SuperExecAuthHttpInterceptor,
)
from flwr.supercore.run import Run
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.supercore.task_identity import TaskIdentity
from flwr.supernode.runtime.run_clientapp import pull_task_input, push_message, push_task_output

from pfedgp.site.audit_trail import AuditTrail
from pfedgp.site.flower_waits import Waits
from pfedgp.site.gate import REFUSED, SiteGate
from pfedgp.site.short_calls import ShortCalls, Shortly
from pfedgp.site.worker_process import WorkerDied, WorkerLate, WorkerProcess, WorkerUnusable
from pfedgp_core.errors import PFedGPError, PolicyError
from pfedgp_core.wire.names import CONFIG, HELLO, INITIAL, NOTICE, ONBOARD, ROUND, SPLIT

__all__ = ["Agent", "time_left"]

IDLE = 1.0  # seconds between two looks at a worker that waits
REST_UNASKED, REST = 120.0, 600.0  # seconds without a message, before the first one and later: the worker may end
TRIES = 3
DROPPED = 30.0  # seconds for the SuperNode to be done with a reply that it has dropped
CLOCK_DIFFERENCE = 5.0  # seconds that a SuperLink lets a node's clock be ahead
_IN_WORDS = {HELLO: "the greeting", ONBOARD: "the publication", NOTICE: "the notice"}

logger = logging.getLogger("pfedgp.site")


class Agent(threading.Thread):
    """Serves one SuperNode for as long as its process lives.

    Parameters
    ----------
    address : str
        HOST:PORT of the SuperNode's own HTTP interface, on loopback.
    secret : bytes
        Which that interface asks for.
    worker : WorkerProcess
    waits : Waits
    allowed : str
        App and version that runs must have, as ``publisher/name:version``.
    report : callable
        Takes events for the supervisor: a kind and fields.
    gate : SiteGate
        Asked before a request is taken up and before its reply leaves.
    trail : AuditTrail
        Told of each reply before it leaves.
    calls : ShortCalls, optional
        With the state of the SuperNode, once it has one; else the agent calls over HTTP.
    """

    def __init__(
        self,
        address: str,
        secret: bytes,
        worker: WorkerProcess,
        waits: Waits,
        allowed: str,
        report: Callable[..., Any],
        gate: SiteGate,
        trail: AuditTrail,
        calls: ShortCalls | None = None,
    ) -> None:
        super().__init__(name="pfedgp-agent", daemon=True)
        self._address, self._worker, self._waits, self._allowed, self._report = address, worker, waits, allowed, report
        self._gate, self._trail, self._calls = gate, trail, calls
        self._secret = secret
        self._last, self._served, self._resting = time.monotonic(), False, False

    def run(self) -> None:
        """Serve until the process ends; what the agent cannot mend ends the process, which is then started anew."""
        try:
            self._waits.connected.wait()
            failures = 0
            while failures < TRIES:
                failures = failures + 1 if (reason := self._restart()) else 0
                if reason and failures == TRIES:
                    self._report("unusable", reason=reason)
                elif reason:
                    time.sleep(IDLE)
                elif self._waits.task.wait(IDLE):
                    self._waits.task.clear()
                    self._look()
                else:
                    self._rest()
        except Exception:
            logger.exception("the agent failed")
        os.kill(os.getpid(), signal.SIGTERM)

    def _restart(self) -> str:
        """Make sure that there is a worker, unless it rests; why there is none, where it does not start."""
        if self._resting:
            return ""
        died = self._worker.pid is not None
        try:
            if self._worker.ensure() and died:
                self._report("problem", text="The worker had ended while it was idle; it was started again.")
        except WorkerUnusable as error:
            return str(error)
        return ""

    def _rest(self) -> None:
        """End the worker that nobody has asked for long, so that the memory of torch and the data is free.

        It has been started before the first message, so that an app that does not load is known at once.
        """
        seconds = REST if self._served else REST_UNASKED
        if not self._resting and time.monotonic() - self._last > seconds:
            self._worker.stop()
            self._resting = True
            self._report("resting")

    def _look(self) -> None:
        """Take the message that waits, if there is one."""
        try:
            task = self._executor().AcquireTask(AcquireTaskRequest(supported_task_types=[TaskType.CLIENT_APP]))
        except httpx.HTTPError as error:
            logger.warning("no task from the SuperNode: %s", error)
            time.sleep(IDLE)
            return
        if task.token:
            with closing(self._client(task.token)) as client:
                self._serve(client)

    def _serve(self, client: RuntimeHttpClient) -> None:
        try:
            message, context, run, _ = pull_task_input(client)
        except Exception:
            # The run may have ended meanwhile. If not, the SuperNode itself answers a task that is not finished.
            logger.exception("the message of a task is gone")
            return
        began = time.perf_counter()
        self._resting = False
        asked = self._trail.asked(message, run.run_id)  # as it came: the gate changes it
        reply, context = self._answer(client, message, context, run)
        reply = self._noted(asked, message, reply)
        error = (reply.error.reason or "error") if reply.has_error() else ""
        taken = self._hand_over(client, reply, context)
        self._waits.reply.set()
        push_task_output(client, context, SubStatus.FAILED if error else SubStatus.COMPLETED, error)
        self._last, self._served = time.monotonic(), True
        self._report(
            "task",
            what=_IN_WORDS.get(message.metadata.message_type, message.metadata.message_type),
            round=_round(message),
            run=str(run.run_id),
            seconds=time.perf_counter() - began,
            error=error,
            split=_split(message),
            taken=taken,
        )

    def _noted(self, asked: dict[str, Any], message: Message, reply: Message) -> Message:
        """Note in the audit log what leaves; a site with a policy sends nothing that it cannot note."""
        try:
            self._trail.leaving(asked, reply)
        except PFedGPError as error:
            self._report("problem", text=f"The audit log: {error}")
            if self._gate.policy_exists and not reply.has_error():
                return _error(message, ErrorCode.CLIENT_APP_RAISED_EXCEPTION, REFUSED)
        return reply

    def _hand_over(self, client: RuntimeHttpClient, reply: Message, context: Context) -> bool:
        """Give a reply to the SuperNode; False where it was dropped, as the server no longer wanted it.

        Without a reply the SuperNode would wait for ever: where it cannot be stored, this process has to end.
        """
        self._waits.idle.clear()
        try:
            push_message(client, reply, context)
        except ObjectPushError:
            # The SuperNode announces a reply before it has all of it, and forgets it where its run has ended.
            if not self._waits.idle.wait(DROPPED):
                raise
            return False
        return True

    def _answer(
        self, client: RuntimeHttpClient, message: Message, context: Context, run: Run
    ) -> tuple[Message, Context]:
        app = f"{run.fab_id}:{run.fab_version}"
        if app != self._allowed:
            self._report("problem", text=f"Run {run.run_id} is of the app {app}; only {self._allowed} may run here.")
            return _error(message, ErrorCode.INVALID_FAB, "app not allowed"), context

        def heartbeat() -> None:
            try:
                client.SendTaskHeartbeat(SendTaskHeartbeatRequest())
            except httpx.HTTPError as error:
                logger.warning("no heartbeat to the SuperNode: %s", error)

        identity = (TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id)
        try:
            admitted = self._gate.admit(message, str(run.run_id))
            answer: tuple[Message, Context] = self._worker.call(
                (message, context, identity), time_left(message), heartbeat
            )
            self._gate.release(admitted, answer[0])
            return answer
        except PolicyError as error:
            self._report("problem", text=f"The site's policy: {error}")
            return _error(message, ErrorCode.CLIENT_APP_RAISED_EXCEPTION, REFUSED), context
        except (WorkerDied, WorkerUnusable) as error:
            self._report("problem", text=f"The worker died: {error}; it is started again.")
            return _error(message, ErrorCode.CLIENT_APP_CRASHED, "worker died"), context
        except WorkerLate as error:
            self._report("problem", text=f"The worker was too slow for the server: {error}; it is started again.")
            return _error(message, ErrorCode.CLIENT_APP_CRASHED, "worker timed out"), context

    def _executor(self) -> Any:
        """The SuperNode, to get a task: asked ten times a second, so that a client over HTTP stays open."""
        return self._shortly() or self._looking

    @cached_property
    def _looking(self) -> RuntimeHttpClient:
        protected = frozenset({"/flwr.proto.Runtime/AcquireTask"})
        auth = SuperExecAuthHttpInterceptor(master_secret=self._secret, protected_methods=protected)
        return self._over_http("SuperExec", auth)

    def _client(self, token: str) -> Any:
        """The SuperNode, for the task with this token."""
        return self._shortly(token) or self._over_http("flwr-clientapp", RuntimeTokenHttpInterceptor(token))

    def _shortly(self, token: str = "") -> Shortly | None:
        calls = self._calls
        return None if calls is None or calls.state is None else Shortly(calls.state, token)

    def _over_http(self, name: str, interceptor: Any) -> RuntimeHttpClient:
        # No retry invoker: Flower's own interrupts this whole process where the token of a task has expired.
        return RuntimeHttpClient.from_server_address(
            server_address=self._address,
            insecure=True,
            root_certificates=None,
            interceptors=[RuntimeVersionHttpInterceptor(component_name=name), interceptor],
        )


def time_left(message: Message) -> float:
    """Seconds until the server no longer waits for the reply to `message`, at least one."""
    metadata = message.metadata
    # The clocks of server and site may differ; the time is never longer than the server's own.
    by_clock = metadata.created_at + metadata.ttl + CLOCK_DIFFERENCE - time.time()
    return max(1.0, min(metadata.ttl, by_clock))


def _error(message: Message, code: int, reason: str) -> Message:
    return Message(Error(code=code, reason=reason), reply_to=message)


def _round(message: Message) -> int:
    """The round that a request belongs to; 0 where it has none."""
    value = _asked(message, ROUND)
    return value if isinstance(value, int) else 0


def _split(message: Message) -> str:
    """The part of the data that a request asks to evaluate on, or that it is a test before round 1; mostly empty."""
    value = INITIAL if _asked(message, INITIAL) == 1 else _asked(message, SPLIT)
    return value if isinstance(value, str) else ""


def _asked(message: Message, key: str) -> Any:
    config = message.content.config_records.get(CONFIG) if message.has_content() else None
    return None if config is None else config.get(key)
