"""Flower's programs, their environment, and the ports that they listen on."""

import os
import secrets
import shutil
import socket
import sys
from contextlib import ExitStack, suppress
from pathlib import Path

from pfedgp.processes.proxies import direct
from pfedgp_core.errors import RunFailedError

__all__ = ["QUIET", "flower_environment", "flower_program", "free_ports"]

LOWEST_PORT = 12_000
PORT_TRIES = 100
OUTGOING_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")

# Flower and Ray read these once, when they are imported or start a process.
QUIET = {
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_LOG_LEVEL": "ERROR",
    "FLWR_TELEMETRY_ENABLED": "0",
    "OMP_NUM_THREADS": "1",
    "PYTHONIOENCODING": "utf-8:backslashreplace",  # their output is read as such, whatever the terminal here shows
    "RAY_ENABLE_AUTO_CONNECT": "0",  # or a thread that is late at the end would start another engine
    "RAY_USAGE_STATS_ENABLED": "0",
}


def free_ports(count: int) -> list[int]:
    """Return ports of the loopback interface that are free at the moment.

    They lie below those that the system hands out for outgoing connections, so that no connection made in between
    takes one.
    """
    with ExitStack() as stack:
        sockets = [stack.enter_context(_bound()) for _ in range(count)]
        return [s.getsockname()[1] for s in sockets]


def _bound() -> socket.socket:
    """A socket on a free port of the loopback interface."""
    for _ in range(PORT_TRIES):
        with suppress(OSError):
            return _bound_to(LOWEST_PORT + secrets.randbelow(_first_outgoing() - LOWEST_PORT))
    return _bound_to(0)


def _bound_to(port: int) -> socket.socket:
    made = socket.socket()
    try:
        made.bind(("127.0.0.1", port))
    except OSError:
        made.close()
        raise
    return made


def _first_outgoing() -> int:
    """The lowest port that the system gives to outgoing connections."""
    try:
        first = int(OUTGOING_PORTS.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return 32768
    return first if first > 2 * LOWEST_PORT else 32768


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
    fixed = {"FLWR_HOME": str(home), "PATH": path, "PYTHONUNBUFFERED": "1"}
    return os.environ | QUIET | direct(os.environ) | fixed | own
