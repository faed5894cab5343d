"""Flower's programs, their environment, and the ports that they listen on."""

import os
import shutil
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pfedgp_core.errors import RunFailedError

__all__ = ["QUIET", "flower_environment", "flower_program", "free_ports"]

# Flower and Ray read these once, when they are imported or start a process.
QUIET = {
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_LOG_LEVEL": "ERROR",
    "FLWR_TELEMETRY_ENABLED": "0",
    "OMP_NUM_THREADS": "1",
    "RAY_ENABLE_AUTO_CONNECT": "0",  # or a thread that is late at the end would start another engine
    "RAY_USAGE_STATS_ENABLED": "0",
}


def free_ports(count: int) -> list[int]:
    """Return ports of the loopback interface that are free at the moment."""
    with _sockets(count) as sockets:
        return [s.getsockname()[1] for s in sockets]


@contextmanager
def _sockets(count: int) -> Iterator[Sequence[socket.socket]]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        yield sockets


def flower_program(name: str) -> str:
    """Path of a program that came with this installation.

    Raises
    ------
    RunFailedError
        There is none.
    """
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if not found:
        raise RunFailedError(f"The program {name} is not installed: install flwr in this Python environment.")
    return found


def flower_environment(home: Path, **own: str) -> dict[str, str]:
    """Return the environment of a Flower process: this process's, Flower's files in `home`, and the variables `own`."""
    # Flower's processes start each other by name, so they must find the programs of this installation.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return os.environ | QUIET | {"FLWR_HOME": str(home), "PATH": path, "PYTHONUNBUFFERED": "1"} | own
