"""A verb of the product that runs in the background of a test: what it prints, when it ends, which processes it has."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self, TypeVar

from tests.conftest import QUIET
from tests.deploy.namespaces import Host
from tests.waiting import wait_for

__all__ = ["PROGRAM", "Program", "children", "is_alive", "wait_for"]

T = TypeVar("T")
PROGRAM = (sys.executable, "-P", "-m", "pfedgp")


def children(pid: int) -> dict[int, str]:
    """All processes below one, with their command lines."""
    found: dict[int, str] = {}
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            stat = (folder / "stat").read_text()
            parents.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(folder.name))
    waiting = [pid]
    while waiting:
        for child in parents.get(waiting.pop(), []):
            with suppress(OSError):
                found[child] = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            waiting.append(child)
    return found


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Program:
    """One verb of the product that runs in the background, with what it prints in a file; a context manager ends it.

    Parameters
    ----------
    log : Path
        Takes stdout and stderr; a program started again writes on.
    host : Host
    command : sequence of str
        The verb and its options.
    environment : mapping
        Added to this process's.
    folder : Path, optional
        Its working folder.
    program : sequence of str
        In place of the product's command.
    """

    def __init__(
        self,
        log: Path,
        host: Host,
        command: Sequence[str],
        environment: Mapping[str, str] = {},
        folder: Path | None = None,
        program: Sequence[str] = PROGRAM,
    ) -> None:
        self.log, self.host = log, host
        with log.open("ab") as file:
            self.process = subprocess.Popen(
                [*host.prefix, *program, *command],
                env=os.environ | QUIET | {"PYTHONUNBUFFERED": "1"} | dict(environment),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """Process id."""
        return self.process.pid

    @property
    def text(self) -> str:
        """What it has printed."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def says(self, pattern: str, seconds: float = 60.0, times: int = 1) -> re.Match[str]:
        """Wait until it has printed `pattern` so many times, and return the last match."""

        def look() -> list[re.Match[str]]:
            ended = self.process.poll()  # asked first: what it has printed before its end counts
            found = list(re.finditer(pattern, self.text, re.M))
            if len(found) >= times:
                return found
            assert ended is None, f"ended with {ended} before {pattern!r}:\n{self.text}"
            return []

        try:
            return wait_for(look, seconds, pattern)[-1]
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.text[-3000:]}") from None

    def ends(self, seconds: float = 60.0) -> int:
        """Wait for its end and return its exit code."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {seconds:g} s:\n{self.text[-3000:]}") from None

    def stop(self, seconds: float = 30.0) -> int:
        """End it in order, and by force where that takes too long."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                return self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                below = children(self.pid)
                for pid in [self.pid, *below]:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                self.process.wait()
        return self.process.returncode
