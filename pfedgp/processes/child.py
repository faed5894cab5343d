"""A child process in a group of its own, which ends with this process."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from pfedgp.processes import parent

__all__ = ["signal_group", "start_child"]


def start_child(
    command: Sequence[str],
    environment: Mapping[str, str],
    stdout: IO[bytes] | int,
    stderr: IO[bytes] | int = subprocess.STDOUT,
    folder: Path | None = None,
    umask: int = -1,
    files: Sequence[int] = (),
) -> "subprocess.Popen[bytes]":
    """Start a program without input that gets SIGTERM once the thread that starts it is gone.

    It leads a group of its own, so that Ctrl-C reaches this process alone, which stops its children in order.

    Parameters
    ----------
    command : sequence of str
        The absolute path of the program, and its arguments.
    environment : mapping
    stdout, stderr : file or int
        As of ``subprocess.Popen``.
    folder : Path, optional
        Its working folder.
    umask : int
        As of ``subprocess.Popen``; by default that of this process.
    files : sequence of int
        Descriptors that it inherits.
    """
    # Isolated and without site packages, the Python in between takes some hundredths of a second.
    between = (sys.executable, "-I", "-S", parent.__file__, str(os.getpid()), str(int(signal.SIGTERM)))
    return subprocess.Popen(
        [*between, *command],
        env=dict(environment),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
        umask=umask,
        pass_fds=files,
    )


def signal_group(process: "subprocess.Popen[bytes] | subprocess.Popen[str]", number: int) -> None:
    """Send a signal to a process that leads a group, and to all that it has started in this group.

    The group lives as long as one member does, so that this also reaches the children of a process that has ended.
    """
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
