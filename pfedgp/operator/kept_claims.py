"""Flower's SuperExec, which starts the server apps, made to keep the claim of one that starts slowly."""

import importlib
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from pfedgp.operator.slow_start import Start
from pfedgp_core.errors import PFedGPError
from pfedgp_core.patch import Patch, lacks

__all__ = ["KeptClaims"]

_PLUGIN = "flwr.supercore.superexec.plugin.base_exec_plugin"
_EXECUTOR = "flwr.supercore.superexec.executor.subprocess_executor"
_WAITING = ("pending", "starting")


class KeptClaims(Patch):
    """Lets a `Start` take care of each server app that the SuperExec of this process starts."""

    name: ClassVar = "kept-claims"
    purpose: ClassVar = "a server app may take minutes to start, and one that never starts ends its run"

    def missing(self) -> str:
        """What of the SuperExec is gone."""
        return (
            lacks(_PLUGIN, "BaseExecPlugin.launch_task", {"token", "task"})
            or lacks(_EXECUTOR, "SubprocessExecutor.launch", {"spec"})
            or lacks(_EXECUTOR, "subprocess.Popen")
            or lacks("flwr.supercore.runtime", "RuntimeHttpClient.SendTaskHeartbeat")
            or lacks("flwr.supercore.runtime", "RuntimeHttpClient.PushTaskOutput")
        )

    def apply(self) -> None:
        """Replace the function that starts a process for a task."""
        from flwr.supercore.constant import TaskType
        from flwr.supercore.superexec.executor import LaunchResult

        plugin: Any = importlib.import_module(_PLUGIN).BaseExecPlugin
        executor: Any = importlib.import_module(_EXECUTOR)
        original, popen = plugin.launch_task, _Recorder()
        executor.subprocess = popen

        def launch_task(self: Any, token: str, task: Any) -> Any:
            if task.type != TaskType.SERVER_APP:
                return original(self, token, task)

            def launch() -> "subprocess.Popen[bytes] | None":
                return popen.recorded(lambda: original(self, token, task))

            _Claim(self, token, task.run_id).start(launch)
            return LaunchResult.accepted()

        plugin.launch_task = launch_task


class _Recorder:
    """Stands in for the module ``subprocess`` where processes are started: it knows what a thread has started."""

    DEVNULL = subprocess.DEVNULL

    def __init__(self) -> None:
        self._own = threading.local()

    def __getattr__(self, name: str) -> Any:
        return getattr(subprocess, name)

    def Popen(self, command: Any, **options: Any) -> "subprocess.Popen[bytes]":
        """Start a process; within `recorded` with its output in a pipe."""
        if not getattr(self._own, "recording", False):
            return subprocess.Popen(command, **options)
        piped = options | {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        started = subprocess.Popen(command, **piped)
        self._own.started = started
        return started

    def recorded(self, start: Callable[[], Any]) -> "subprocess.Popen[bytes] | None":
        """Call `start`, and return the process that it has started in this thread."""
        self._own.recording, self._own.started = True, None
        try:
            start()
            started: subprocess.Popen[bytes] | None = self._own.started
            return started
        finally:
            self._own.recording = False


class _Claim:
    """The SuperLink as a SuperExec knows it, for one task that this one has claimed."""

    def __init__(self, plugin: Any, token: str, run_id: int) -> None:
        from flwr.supercore.interceptors import RuntimeTokenHttpInterceptor, RuntimeVersionHttpInterceptor
        from flwr.supercore.runtime import RuntimeHttpClient

        from pfedgp.operator.control import Control

        address, path = plugin.runtime_api_address, plugin.root_certificates_path
        ca = Path(path) if path and not plugin.insecure else None
        self._run_id = run_id
        self._control = Control(address, ca)
        # No retry invoker: Flower's own interrupts this whole process where the token of a task has expired.
        self._client = RuntimeHttpClient.from_server_address(
            server_address=address,
            insecure=ca is None,
            root_certificates=None if ca is None else ca.read_bytes(),
            interceptors=[RuntimeVersionHttpInterceptor("SuperExec"), RuntimeTokenHttpInterceptor(token)],
        )

    def start(self, launch: Callable[[], "subprocess.Popen[bytes] | None"]) -> None:
        """Let a thread start the process."""
        Start(str(self._run_id), launch, self.taken, self.beat, self.fail).start()

    def taken(self) -> bool:
        """Whether the run no longer waits for a process."""
        try:
            runs = self._control.runs(self._run_id)
        except PFedGPError:
            return False  # the SuperLink is away, and another look follows
        return not runs or runs[0].status not in _WAITING

    def beat(self) -> bool:
        """Keep the claim; False where it is lost."""
        import httpx
        from flwr.proto.runtime_pb2 import SendTaskHeartbeatRequest

        try:
            return bool(self._client.SendTaskHeartbeat(SendTaskHeartbeatRequest()).success)
        except httpx.HTTPStatusError as error:
            return error.response.status_code != httpx.codes.UNAUTHORIZED
        except httpx.HTTPError:
            return True

    def fail(self, reason: str) -> None:
        """End the run with a reason."""
        import httpx
        from flwr.common.constant import SubStatus
        from flwr.proto.runtime_pb2 import PushTaskOutputRequest

        try:
            self._client.PushTaskOutput(PushTaskOutputRequest(sub_status=SubStatus.FAILED, details=reason))
        except httpx.HTTPError:
            return  # the claim ends by itself, and the run is taken up once more
