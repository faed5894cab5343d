"""The server's supervisor: starts its processes again when they die, and stops them in order."""

import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pfedgp.processes.child import signal_group, start_child
from pfedgp.processes.colours import without_colours
from pfedgp_core.errors import RunFailedError

__all__ = ["Program", "ServerSupervisor"]

LONGEST_PAUSE = 30.0
SETTLED = 60.0
STOP_TIMEOUT = 15.0
LONGEST_LOG = 10_000_000
STEADY = 1.0
_NO_REASON = "EXPERIMENTAL: "  # in warnings that Flower prints at every start


@dataclass
class Program:
    """One process to keep running.

    Parameters
    ----------
    name : str
        For log lines; its output goes to ``NAME.log``.
    command : sequence of str
    environment : mapping
    folder : Path
        Its working folder.
    umask : int
        Rights that its files do not get; by default as of this process.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    umask: int = -1
    process: "subprocess.Popen[bytes] | None" = field(default=None, init=False)
    started: float = field(default=0.0, init=False)
    next_start: float = field(default=0.0, init=False)
    pause: float = field(default=1.0, init=False)
    log_start: int = field(default=0, init=False)


class ServerSupervisor:
    """Runs programs in the order given and stops them in the opposite one.

    Parameters
    ----------
    logs : Path
        Folder of the programs' logs.
    say : callable
        Takes a line for the console.
    """

    def __init__(self, logs: Path, say: Callable[[str], None]) -> None:
        self.logs, self.say = logs, say
        self.programs: list[Program] = []

    def start(self, program: Program) -> None:
        """Start a program for the first time."""
        self.programs.append(program)
        self._start(program)

    def wait(self, program: Program, ready: Callable[[], bool], seconds: float, stopped: Callable[[], bool]) -> None:
        """Wait until a program does its work, and has done so for a moment.

        Raises
        ------
        RunFailedError
            It ended, or was not ready in time; the text has the last error in its log.
        """
        deadline = time.monotonic() + seconds
        steady: float | None = None
        assert program.process is not None
        while not stopped():
            now = time.monotonic()
            steady = (steady or now) if ready() else None
            code = program.process.poll()
            if code is not None:
                raise RunFailedError(f"The {program.name} ended with exit code {code}: {self.reason(program)}")
            if steady is not None and now - steady >= STEADY:
                return
            if now > deadline:
                raise RunFailedError(f"The {program.name} is not ready after {seconds:g} s: {self.reason(program)}")
            time.sleep(0.1)

    def finish(self, program: Program, seconds: float, stopped: threading.Event) -> int | None:
        """Run a program that ends by itself, once.

        Returns
        -------
        int or None
            Its exit code; None where `stopped` was set before, which ends it.

        Raises
        ------
        RunFailedError
            It has not ended in time.
        """
        deadline = time.monotonic() + seconds
        self._start(program)
        process = program.process
        assert process is not None
        try:
            while (code := process.poll()) is None and not stopped.wait(0.05):
                if time.monotonic() > deadline:
                    raise RunFailedError(f"The {program.name} is not ready after {seconds:g} s: {self.reason(program)}")
            return code
        finally:
            signal_group(process, signal.SIGKILL)
            process.wait()

    def check(self) -> bool:
        """Start again what has died, after a pause that grows; True where a process was started."""
        restarted = False
        for program in self.programs:
            now = time.monotonic()
            if program.process is not None:
                code = program.process.poll()
                if code is None:
                    continue
                signal_group(program.process, signal.SIGKILL)  # what it had started itself
                if now - program.started > SETTLED:
                    program.pause = 1.0
                how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
                said = f": {self.reason(program)}" if code > 0 else ""
                self.say(f"the {program.name} ended {how}; it starts again in {program.pause:g} s{said}")
                program.process, program.next_start = None, now + program.pause
                program.pause = min(2 * program.pause, LONGEST_PAUSE)
            elif now >= program.next_start:
                self._start(program)
                self.say(f"the {program.name} runs again (process {program.process.pid if program.process else '?'})")
                restarted = True
        return restarted

    def stop(self) -> None:
        """Stop all programs, the last one first."""
        for program in reversed(self.programs):
            process = program.process
            if process is None:
                continue
            signal_group(process, signal.SIGTERM)
            try:
                process.wait(STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                self.say(f"the {program.name} did not end within {STOP_TIMEOUT:g} s and is killed")
            signal_group(process, signal.SIGKILL)
            process.wait()
            program.process = None

    def shorten_logs(self) -> None:
        """Move what a long log holds aside, to ``NAME.log.1``; the programs go on writing to the same file."""
        for program in self.programs:
            path = self.logs / f"{program.name}.log"
            with suppress(OSError):
                if path.stat().st_size > LONGEST_LOG:
                    shutil.copyfile(path, path.with_suffix(".log.1"))
                    os.truncate(path, 0)

    def reason(self, program: Program) -> str:
        """The last error in a program's log since it was started, or its last line where none names an error."""
        said = self.output(program).splitlines()
        lines = [" ".join(line.split()) for line in said if line.strip() and _NO_REASON not in line]
        errors = [line for line in lines if re.search(r"\bERROR\b|\w(Error|Exception): ", line)]
        found = (errors or lines or ["no output"])[-1]
        return re.sub(r"^([\dT:.Z-]+ )?ERROR ?(:|\[[\w.]+\]) ", "", found).rstrip(".") + "."

    def output(self, program: Program) -> str:
        """What a program has printed since it was started, without colours."""
        content = (self.logs / f"{program.name}.log").read_bytes()
        since = program.log_start if program.log_start <= len(content) else 0  # the log was shortened
        return without_colours(content[since:].decode(errors="replace"))

    def _start(self, program: Program) -> None:
        self.shorten_logs()
        with (self.logs / f"{program.name}.log").open("ab") as log:
            program.log_start = log.tell()
            # Where this server is killed, its processes would keep the ports from the next one.
            program.process = start_child(
                program.command, program.environment, log, folder=program.folder, umask=program.umask
            )
        program.started = time.monotonic()
