"""Ray's start on machines that it does not expect: loaded ones, long names of folders, packages of our names."""

import functools
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, ClassVar

import psutil

from pfedgp_core.errors import ConfigError, RunFailedError
from pfedgp_core.patch import Patch, lacks

__all__ = ["RayStart", "socket_folder"]

NODE_STARTS = 180.0  # seconds; Ray itself gives up after 30
TRIES = 2
LOOK_EVERY = 0.5
LONGEST_SOCKET = 107  # bytes of the name of a Unix socket
BELOW = "/session_2026-01-01_00-00-00_000000_0000000/sockets/plasma_store.10"  # what Ray puts under its folder
SHORT_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 (Ray makes a folder of its own there)
_LATE = "timed out during startup"


def socket_folder() -> str | None:
    """A folder for Ray in place of the one that it would take itself; None where that one will do.

    Raises
    ------
    ConfigError
        The folder of temporary files has too long a name for sockets, and there is no shorter one.
    """
    variable = next((name for name in ("RAY_TMPDIR", "TMPDIR") if name in os.environ), "TMPDIR")
    usual = os.environ.get(variable, "/tmp")  # noqa: S108 (Ray's own choice)
    if _fits(usual):
        return None
    for folder in SHORT_FOLDERS:
        if os.access(folder, os.W_OK | os.X_OK) and _fits(folder):
            return f"{folder}/ray"
    longest = LONGEST_SOCKET - len("/ray") - len(BELOW)
    raise ConfigError(
        f"{variable} {usual} is too long for the sockets of the simulation engine, and {', '.join(SHORT_FOLDERS)} "
        f"cannot be written: set {variable} to a folder of at most {longest} characters."
    )


def _fits(folder: str) -> bool:
    return len(os.fsencode(f"{folder}/ray{BELOW}")) <= LONGEST_SOCKET


class RayStart(Patch):
    """Replaces the function that starts Ray by one that waits longer, and keeps the working folder off the first place.

    Ray gives up a node that has not registered after 30 seconds, though it runs. And it puts the working folder before
    everything else on the workers' path, so that a ``client.py`` there would be taken for the app.
    """

    name: ClassVar = "ray-start"
    purpose: ClassVar = "a simulation on Ray starts on a loaded machine, and in a folder that holds a client.py"

    def missing(self) -> str:
        """What of Ray is gone."""
        return (
            lacks("ray", "init", {"job_config"})
            or lacks("ray._private.services", "get_node", {"gcs_address", "node_id"})
            or lacks("ray.job_config", "JobConfig._runtime_env_has_working_dir")
        )

    def apply(self) -> None:
        """Replace the functions, until the end of the process; see `applied`."""
        import ray
        from ray._private import services

        services.get_node = _waiting(services.get_node)
        ray.init = _trying(ray.init)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Apply the patch where nothing is missing, and afterwards give Ray its own functions back."""
        import ray
        from ray._private import services

        former = ray.init, services.get_node
        if not self.missing():
            self.apply()
        try:
            yield
        finally:
            ray.init, services.get_node = former


def _trying(start: Callable[..., Any]) -> Callable[..., Any]:
    import ray
    from ray.job_config import JobConfig

    class OwnPath(JobConfig):
        """Says what keeps Ray from putting the working folder first; the workers have this process's own path."""

        def _runtime_env_has_working_dir(self) -> bool:
            return True

    @functools.wraps(start)
    def init(*arguments: Any, **options: Any) -> Any:
        left = TRIES
        while True:
            left -= 1
            try:
                return start(*arguments, job_config=OwnPath(), **options)
            except Exception as error:
                if _LATE not in str(error):
                    raise
                ray.shutdown()
                _end_children()
                if not left:
                    raise RunFailedError(
                        f"The simulation engine did not start {TRIES} times, with {NODE_STARTS:.0f} s each time: the "
                        "machine has too little time or memory left, see free and uptime; try again later, or with "
                        "fewer --workers."
                    ) from error
                print("The simulation engine did not start in time: it is started once more.", flush=True)

    return init


def _waiting(get_node: Callable[..., Any]) -> Callable[..., Any]:
    """Ask for a node until it has registered, or no node runs."""

    @functools.wraps(get_node)
    def get(gcs_address: Any, node_id: Any) -> Any:
        deadline = time.monotonic() + NODE_STARTS
        while True:
            try:
                return get_node(gcs_address, node_id)
            except RuntimeError:
                if time.monotonic() > deadline or not _node_runs():
                    raise
                time.sleep(LOOK_EVERY)

    return get


def _node_runs() -> bool:
    for process in _children():
        with suppress(psutil.Error):
            if process.name() == "raylet" and process.status() != psutil.STATUS_ZOMBIE:
                return True
    return False


def _children() -> list[psutil.Process]:
    try:
        return psutil.Process().children(recursive=True)
    except psutil.Error:
        return []


def _end_children() -> None:
    """End what a start that failed has left: Ray forgets it."""
    for process in _children():
        with suppress(psutil.Error):
            process.kill()
