"""Following a run: printing the server app's output through lost connections until the run ends."""

import queue
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from pfedgp.operator.connection import Target
from pfedgp.operator.control import Control, Run
from pfedgp.processes.colours import without_colours
from pfedgp_core.errors import PFedGPError, RunFailedError, UnreadableFileError
from pfedgp_core.files.json_file import read_object
from pfedgp_core.words import few

__all__ = ["Printed", "UnfinishedError", "follow"]

STATUS_EVERY = 2.0
PATIENCE = 5.0
LAST_LINES = 5.0
RETRY = 2.0
GONE = 10.0  # a service manager may start the server again
_BEGINS = ("pFedGP", "round ")  # of what the server app prints once its sites are there
# Errors whose text is a sentence for the user.
_NAMED = "(?:Config|Data|UnreadableFile|MissingFile|Artefact|DamagedState|RunFailed|NonFinite)Error"
_NOISE = (
    "Successfully installed pfedgp to ",
    "ERROR :",
    "WARNING :   Connection attempt failed",
    "A Flower App failed to ",
    "An unhandled exception occurred in the ServerApp",
    "The above exception was the direct cause of ",
    "During handling of the above exception, ",
    "For more information, visit: ",
)


class UnfinishedError(RunFailedError):
    """A run that is over and not complete; `folder` is the server's path of its folder."""

    def __init__(self, text: str, folder: str) -> None:
        super().__init__(text)
        self.folder = folder


class Printed:
    """Turns pieces of a log into lines for a person: no colours, no tracebacks; remembers the last error.

    Parameters
    ----------
    show : callable
        Takes each whole line.
    """

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show, self._rest, self._inside, self._after = show, "", False, False
        self.cause = ""
        self.started = False

    def add(self, piece: str) -> None:
        """Take a piece, which may end within a line."""
        *lines, self._rest = (self._rest + piece).split("\n")
        for line in lines:
            self._line(without_colours(line).rstrip())

    def end(self) -> None:
        """Show what came without a line's end."""
        if self._rest:
            self.add("\n")

    def _line(self, line: str) -> None:
        if line.startswith("Traceback (most recent call last)"):
            self._inside = self._after = True
        elif self._inside and line and not line.startswith((" ", "\t")):
            self._inside = False
            self.cause = line
        elif not self._inside and not _is_noise(line) and (line or not self._after):
            self._after = False
            self.started = self.started or line.startswith(_BEGINS)
            self._show(line)


def follow(target: Target, run_id: int, show: Callable[[str], None]) -> Run:
    """Show a run's lines until it is over, and return how it ended.

    Parameters
    ----------
    target : Target
        The server.
    run_id : int
    show : callable
        Takes each line.

    Raises
    ------
    UnfinishedError
        The run did not complete, or the server has forgotten it; the text says why.
    """
    pieces: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    stopped = threading.Event()
    reader = threading.Thread(target=_read, args=(target, run_id, pieces, stopped), daemon=True, name="log")
    printed = Printed(show)
    with target.connect() as control:
        watch = _Watch(control, target, run_id, show)
        reader.start()
        try:
            over: float | None = None
            while True:
                with suppress(queue.Empty):
                    piece = pieces.get(timeout=STATUS_EVERY / 2 if over is None else 0.2)
                    if piece is None:
                        break
                    printed.add(piece)
                if over is None and watch.look(printed.started):
                    over = time.monotonic()
                elif over is not None and time.monotonic() - over > LAST_LINES:
                    break  # the log's own end does not come
            printed.end()
        finally:
            stopped.set()
        run = watch.final()
    if run.status != "finished:completed":
        raise UnfinishedError(_reason(target, run, printed.cause), run.folder)
    return run


class _Watch:
    """Looks at the run's status every few seconds, and says what it waits for."""

    def __init__(self, control: Control, target: Target, run_id: int, show: Callable[[str], None]) -> None:
        self.control, self.target, self.run_id, self.show = control, target, run_id, show
        self.began, self.looked = time.monotonic(), 0.0
        self.lost = False
        self.gone: float | None = None
        self.said = ""
        self.run: Run | None = None

    def look(self, started: bool) -> bool:
        """Ask for the status if it is time; True where the run is over. `started`: it no longer waits for sites."""
        now = time.monotonic()
        if now - self.looked < STATUS_EVERY:
            return False
        self.looked = now
        try:
            self.run = self._ask()
            if self.lost:
                self.show("The server answers again.")
            self.lost, self.gone = False, None
            if not self.run.finished and now - self.began > PATIENCE:
                self._tell_why_it_waits(self.run, started)
        except UnfinishedError:
            raise
        except PFedGPError as error:
            if not self.lost:
                self.show(f"{error} The run is not lost by that; trying again ...")
            self.lost = True
            self._end_with_the_server(now)
            return False
        return self.run.finished

    def _end_with_the_server(self, now: float) -> None:
        """Give up where the server's process has ended too, which would start a dead SuperLink again."""
        state = self.target.state
        if not self.target.here or state is None or state.running() is not None:
            self.gone = None
            return
        self.gone = self.gone or now
        if now - self.gone >= GONE:
            raise UnfinishedError(
                f"The server has stopped, and the run with it: start it again with {state.start_command()}",
                self.run.folder if self.run else "",
            )

    def final(self) -> Run:
        """The status at the end."""
        return self.run if self.run and self.run.finished else self._ask()

    def _ask(self) -> Run:
        found = self.control.runs(self.run_id)
        if not found:
            raise UnfinishedError(
                f"The server does not know the run {self.run_id} any more: it was restarted without its database.", ""
            )
        return found[0]

    def _tell_why_it_waits(self, run: Run, started: bool) -> None:
        text = ""
        log = f" (see {self.target.state.logs / 'superexec.log'})" if self.target.state else ""
        if run.status == "pending":
            text = f"The run is pending: no SuperExec has taken it up yet{log}."
        elif run.status == "starting":
            text = f"The server app starts, which can take minutes on a loaded machine{log}."
        elif not started:
            away = [node.name for node in self.control.nodes() if not node.online]
            if away:
                text = f"Registered but not connected: {few(away, 20)}."
        if text and text != self.said:
            self.show(text)
            self.said = text


def _read(target: Target, run_id: int, pieces: "queue.SimpleQueue[str | None]", stopped: threading.Event) -> None:
    """Put the run's log into the queue, each piece once, and None at its end."""
    after = 0.0
    with target.connect() as control:
        while not stopped.is_set():
            try:
                for text, when in control.logs(run_id, after):
                    pieces.put(text)
                    after = max(after, when)
                # A server that is stopped ends the log too, and the run is not over by that.
                if all(run.finished for run in control.runs(run_id)):
                    break
            except PFedGPError:
                pass  # the status says what is wrong
            stopped.wait(RETRY)
    pieces.put(None)


def _reason(target: Target, run: Run, cause: str) -> str:
    """Say why a run did not complete: in the server app's own words where it left some."""
    if run.status == "finished:stopped":
        return run.reason
    folder = target.local(run.folder)
    if folder is not None:
        with suppress(UnreadableFileError):
            reason = read_object(folder / "summary.json").get("reason")
            if reason:
                return str(reason)
    error = re.sub(r"^[\w.]*\.(?=\w+:)", "", cause)
    own = re.match(rf"({_NAMED}): (.*)", error)
    if own:
        return own[2]
    if not error and (run.reason != run.details or run.details.startswith("The server app ")):
        return run.reason
    return f"The run ended as {run.status}: {(error or run.details or 'no details').rstrip('.')}."


def _is_noise(line: str) -> bool:
    """Flower's own framing: where it unpacks the app, and general advice around an error whose cause is shown."""
    return line.startswith(_NOISE)
