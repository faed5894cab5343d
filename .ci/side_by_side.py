"""Commands side by side: ``python .ci/side_by_side.py NAME=COMMAND ...``, each a command of bash.

Their lines come as they are printed, each with its command's name before it. All run to their ends, whichever fails;
those that fail are named last. Exit code: 0 where all end with 0, else 1.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress

GRACE = 30.0  # seconds that the commands have to end after an interruption
_line = threading.Lock()


def say(text: str) -> None:
    """Print a line whole, whichever thread does."""
    with _line:
        print(text, flush=True)


class Lane:
    """One of the commands, in a process group of its own."""

    def __init__(self, name: str, command: str, width: int) -> None:
        self.name, self.mark, self._command = name, f"{name:<{width}} | ", command
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Let it run."""
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            ["bash", "-c", self._command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._watched = threading.Thread(target=self._watch, args=[self.process], daemon=True)
        self._watched.start()

    def _watch(self, process: "subprocess.Popen[bytes]") -> None:
        shown = threading.Thread(target=self._show, args=[process.stdout], daemon=True)
        shown.start()
        code = process.wait()
        shown.join(5.0)  # a process that it has left behind may hold its output open
        say(f"{self.mark}ended with {code} after {time.monotonic() - self.began:.0f} s")

    def _show(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            say(self.mark + line.decode(errors="replace").rstrip("\r\n"))

    def end(self) -> int:
        """Wait for its end; the exit code."""
        assert self.process is not None
        self._watched.join()
        return self.process.returncode

    def interrupt(self) -> None:
        """Ask all of its processes to end."""
        if self.process is not None:
            self._send(signal.SIGINT)

    def kill(self, limit: float) -> None:
        """End what is left of it at that time."""
        if self.process is not None:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(max(0.0, limit - time.monotonic()))
            self._send(signal.SIGKILL)

    def _send(self, number: int) -> None:
        assert self.process is not None
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)


def run(arguments: Iterable[str]) -> int:
    """Run them; the exit code."""
    named = [argument.partition("=")[::2] for argument in arguments]
    width = max(len(name) for name, _ in named)
    lanes = [Lane(name, command, width) for name, command in named]
    try:
        for lane in lanes:
            lane.start()
        failed = [(lane.name, code) for lane in lanes if (code := lane.end())]
    except BaseException:  # Ctrl-C, or the end of the one that asked
        for lane in lanes:
            lane.interrupt()
        limit = time.monotonic() + GRACE
        for lane in lanes:
            lane.kill(limit)
        raise
    for name, code in failed:
        say(f"FAILED: {name} (exit code {code})")
    return 1 if failed else 0


def _stop(number: int, _frame: object) -> None:
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)
    sys.exit(run(sys.argv[1:]))
