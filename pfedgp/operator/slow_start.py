"""The start of a server app: its claim on the run is kept while it starts, starts are counted, and they end."""

import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

__all__ = ["STARTS", "Start"]

STARTS = 3
LONGEST = 300.0  # seconds of a start; Python and Flower from a cold disk on a loaded machine
LOOK_EVERY = 1.0
BEAT_EVERY = 10.0
LAST_LINES = 20


class Start(threading.Thread):
    """Starts the process of a server app, again where it ends before its first call, and says when it gives up.

    Flower gives a process 30 seconds from its claim to its first call. After these, it hands the run to another one,
    and so for ever. Here heartbeats keep the claim until the process works or has ended.

    Parameters
    ----------
    run : str
        What runs, for log lines.
    launch : callable
        Starts the process, with its output in a pipe.
    taken : callable
        Whether the run is no longer waiting for a process.
    beat : callable
        Keeps the claim; False where it is lost, as after a stop of the run.
    fail : callable
        Ends the run with a reason.
    """

    def __init__(
        self,
        run: str,
        launch: Callable[[], "subprocess.Popen[bytes] | None"],
        taken: Callable[[], bool],
        beat: Callable[[], bool],
        fail: Callable[[str], None],
    ) -> None:
        super().__init__(name=f"start-{run}", daemon=True)
        self._run, self._launch, self._taken, self._beat, self._fail = run, launch, taken, beat, fail

    def run(self) -> None:
        """Start the process until it works, or has failed `STARTS` times."""
        reason = ""
        for number in range(1, STARTS + 1):
            process = self._launch()
            if process is None:
                return
            _say(f"start {number} of {STARTS} of the server app of run {self._run} (process {process.pid})")
            lines: deque[str] = deque(maxlen=LAST_LINES)
            reader = threading.Thread(target=_drain, args=(process, lines), daemon=True)
            reader.start()
            reason = self._attend(process)
            if not reason:
                return
            reader.join(LOOK_EVERY)
            reason += f" ({lines[-1]})" if lines else ""
            _say(f"the server app of run {self._run} did not start: {reason}")
        self._fail(
            f"The server app was started {STARTS} times and never came to its first call: {reason}; see superexec.log "
            "in the server's logs."
        )

    def _attend(self, process: "subprocess.Popen[bytes]") -> str:
        """Keep the claim until the process works; why it does not, empty where it does or is no longer wanted."""
        began, beaten = time.monotonic(), 0.0
        while process.poll() is None:
            if self._taken():
                return ""
            now = time.monotonic()
            if now - began > LONGEST:
                process.kill()
                return f"it had made no call after {LONGEST:g} s"
            if now - beaten > BEAT_EVERY:
                beaten = now
                if not self._beat():
                    process.kill()
                    return ""
            with suppress(subprocess.TimeoutExpired):
                process.wait(LOOK_EVERY)
        if self._taken():
            return ""
        code = process.returncode
        return f"it ended by signal {-code}" if code < 0 else f"it ended with exit code {code}"


def _drain(process: "subprocess.Popen[bytes]", lines: "deque[str]") -> None:
    """Read what a process prints until its end, and let the system forget it."""
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            if text := " ".join(line.decode("utf-8", "replace").split()):
                lines.append(text[:300])
    process.wait()


def _say(line: str) -> None:
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}", file=sys.stderr, flush=True)
