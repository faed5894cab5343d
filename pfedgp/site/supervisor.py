"""The supervisor: keeps a SuperNode running, says in plain sentences what happens, and knows when to give up.

Before the first connection a mistake that only the operator can mend ends the program. After it, nothing does: whatever
fails is started again, with longer and longer pauses.
"""

import logging
import os
import queue
import signal
import threading
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfedgp.operator.addresses import parse_address
from pfedgp.processes.signals import STOP_OR_HANGUP, on_stop_signal
from pfedgp.site import flower_log
from pfedgp.site.plan import SitePlan
from pfedgp.site.state import SiteState
from pfedgp.site.supernode_process import Heard, SuperNodeProcess
from pfedgp_core.errors import ConfigError, PFedGPError, RunFailedError
from pfedgp_core.wire.names import INITIAL

if TYPE_CHECKING:
    from pfedgp.doctor.problem import Problem

__all__ = ["SiteSupervisor"]

FIRST_PAUSE, LAST_PAUSE = 1.0, 15.0
HEALTHY = 60.0  # seconds of connection after which the pauses start again from the first
SAY_AGAIN = 600.0  # seconds between two equal lines about what is waited for
LOOK_AGAIN = 60.0  # seconds between two diagnoses while the server does not answer
# Someone may be about to register the key, so that this mistake is waited for.
PASSING = {"unregistered"}
_STOCK = "Flower's own SuperNode runs: rounds are slow, and this site runs whatever app a run of the server brings."


class _Stop(Exception):
    def __init__(self, number: int) -> None:
        self.number = number


class SiteSupervisor:
    """Runs one site until it is told to stop.

    Parameters
    ----------
    plan : SitePlan
    folder : SiteState
        Locked by the caller.
    logger : Logger
        Of the folder.
    """

    def __init__(self, plan: SitePlan, folder: SiteState, logger: logging.Logger) -> None:
        self.plan, self.folder, self.logger = plan, folder, logger
        self._heard: queue.SimpleQueue[Heard] = queue.SimpleQueue()
        self._process: SuperNodeProcess | None = None
        self._ever_connected = False
        self._node_id: str | None = None
        self._worker: int | None = None
        self._end: PFedGPError | None = None  # why it is of no use to start the SuperNode again
        self._lines: deque[str] = deque(maxlen=40)
        self._said, self._said_at = "", float("-inf")
        self._looked_at = float("-inf")

    def run(self) -> int:
        """Return the exit code: 0 after SIGTERM, 130 after Ctrl-C.

        Raises
        ------
        ConfigError
            A mistake that waiting does not mend, before the first connection; or the installed Flower lacks what makes
            a site safe.
        RunFailedError
            The worker cannot load its app.
        """
        with on_stop_signal(lambda n: self._heard.put(Heard("signal", n)), STOP_OR_HANGUP):
            self._status()
            pause = FIRST_PAUSE
            try:
                if self.plan.stock:
                    self.logger.info(_STOCK)
                if proxy := _proxy(self.plan):
                    self.logger.info("The way to %s leads through the proxy %s.", self.plan.superlink, proxy)
                self._judge(self._diagnosis(refused=False))
                while True:
                    connected = self._serve()
                    pause = FIRST_PAUSE if connected > HEALTHY else pause
                    self._wait(pause)
                    pause = min(LAST_PAUSE, 2 * pause)
            except _Stop as stop:
                self.logger.info("Stopping.")
                self._stop()
                self.logger.info("Stopped.")
                return 130 if stop.number == signal.SIGINT else 0
            except PFedGPError as error:
                self.logger.debug("%s", error)  # the caller shows it
                raise
            finally:
                self._stop()

    def _serve(self) -> float:
        """Run a SuperNode until it ends, and return for how many seconds it was connected."""
        self._lines.clear()
        self._process = SuperNodeProcess(self.plan, self._heard)
        self._status()
        connected = None
        while True:
            heard = self._next()
            if heard.kind == "line":
                self._line(heard.value)
                if connected is None and self._node_id:
                    connected = time.monotonic()
            elif heard.kind == "event":
                self._event(heard.value)
            elif heard.kind == "diagnosis":
                self._judge(heard.value)
            elif heard.kind == "ended":
                break
        self._process = self._worker = self._node_id = None
        self._status()
        if self._end is not None:
            raise self._end
        lived = 0.0 if connected is None else time.monotonic() - connected
        refused = any(map(flower_log.is_refused, self._lines))
        self.logger.debug("The SuperNode ended with exit code %s.", heard.value)
        if not self._judge(self._diagnosis(refused)):
            self._say(f"Problem: the SuperNode ended ({self._ending(heard.value)}); it is started again.")
        return lived

    def _line(self, line: str) -> None:
        if not line:
            return
        self.logger.debug("| %s", line)
        self._lines.append(line)
        if node_id := flower_log.connected_as(line):
            self._node_id, self._ever_connected = node_id, True
            self.logger.info("Connected to %s as node %s.", self.plan.superlink, node_id)
            self._said = ""
            self._status()
        elif flower_log.is_lost(line):
            if self._ever_connected:
                self._say(f"Waiting: {self.plan.superlink} does not answer; trying again.")
            elif time.monotonic() - self._looked_at > LOOK_AGAIN:
                self._look(refused=False)
        elif flower_log.is_recovered(line) and self._node_id:
            self.logger.info("Connected to %s again.", self.plan.superlink)
            self._said = ""
        elif warning := flower_log.warning_of_app(line):
            self._say(f"Problem: {warning}")

    def _ending(self, code: int) -> str:
        """How the SuperNode ended, in its own words where it left some."""
        errors = [line for line in self._lines if "error" in line.lower()]
        return flower_log.in_words(errors[-1]) if errors else f"signal {-code}" if code < 0 else f"exit code {code}"

    def _event(self, event: dict[str, Any]) -> None:
        if event["event"] == "worker":
            self._worker = event["pid"]
            self._status()
        elif event["event"] == "resting":
            self._worker = None
            self._status()
            self.logger.debug("No message for some minutes: the worker has ended, and starts again with the next one.")
        elif event["event"] == "unusable":
            self._end = RunFailedError(
                f"The worker did not start three times: {event['reason']}; {self.folder.log_file} says more, mend the "
                "installation and start the client again."
            )
        elif event["event"] == "refused":
            self._end = ConfigError(event["text"])
        elif event["event"] == "problem":
            self.logger.info("Problem: %s", event["text"])
        elif event["event"] == "task":
            self.logger.info("%s", _task(event))

    def _judge(self, problems: "list[Problem]") -> bool:
        """Say the first problem, or end with it; False where there is none."""
        for problem in problems:
            if problem.warning:
                self.logger.debug("Note: %s", problem.text)
        serious = [problem for problem in problems if not problem.warning]
        for problem in serious:
            if problem.lasting and problem.code not in PASSING and not self._ever_connected:
                raise ConfigError(problem.text)
        if serious and self._node_id is None:
            self._say(f"Waiting: {serious[0].text}")
        return bool(serious)

    def _diagnosis(self, refused: bool) -> "list[Problem]":
        self._look(refused)
        while (heard := self._next()).kind != "diagnosis":
            pass
        return list(heard.value)

    def _look(self, refused: bool) -> None:
        """Look for what keeps the site from its server, in the background."""
        self._looked_at = time.monotonic()

        def look() -> None:
            self._heard.put(Heard("diagnosis", _diagnose(self.plan, refused)))

        threading.Thread(target=look, daemon=True).start()

    def _wait(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            try:
                self._next(left)
            except queue.Empty:
                return

    def _next(self, timeout: float | None = None) -> Heard:
        heard = self._heard.get(timeout=timeout)
        if heard.kind == "signal":
            raise _Stop(heard.value)
        return heard

    def _say(self, text: str) -> None:
        """Say what is wrong: once, and again after a while."""
        if text != self._said or time.monotonic() - self._said_at > SAY_AGAIN:
            self._said, self._said_at = text, time.monotonic()
            self.logger.info("%s", text)

    def _status(self) -> None:
        self.folder.write_status(
            {
                "supervisor": os.getpid(),
                "supernode": None if self._process is None else self._process.pid,
                "worker": self._worker,
                "node_id": self._node_id,
                "connected": self._node_id is not None,
                "mode": "stock" if self.plan.stock else "fast",
                "superlink": self.plan.superlink,
                "name": self.plan.name,
            }
        )

    def _stop(self) -> None:
        if self._process is not None:
            self._process.stop()
        self._process = self._worker = self._node_id = None
        self._status()


def _task(event: dict[str, Any]) -> str:
    what = f"{event['what']}" + (f" in round {event['round']}" if event["round"] else "")
    if event["error"]:
        return f"Problem: {what} of run {event['run']} failed ({event['error']}); the log says more."
    if not event.get("taken", True):
        return f"The server no longer took the reply to {what} of run {event['run']}, as the run had ended."
    if event["what"] == "evaluate" and event.get("split") in ("test", INITIAL):
        before = event["split"] == INITIAL
        model = "the network before round 1" if before else f"the best model, of round {event['round']},"
        return f"Evaluated {model} of run {event['run']} on test data in {event['seconds']:.1f} s."
    if event["what"] == "the notice":
        return f"Read a notice of the server of run {event['run']}."
    verb = {"train": "Trained", "evaluate": "Evaluated"}.get(event["what"])
    done = f"{verb} round {event['round']}" if verb else f"Answered {event['what']}"
    return f"{done} of run {event['run']} in {event['seconds']:.1f} s."


def _proxy(plan: SitePlan) -> str:
    """The proxy that gRPC takes from the environment; empty where it connects directly."""
    try:
        from pfedgp.doctor.proxy import proxy_for
    except ImportError:
        return ""
    found = proxy_for(parse_address(plan.superlink, "--superlink")[0])
    return "" if found is None else str(found)


def _diagnose(plan: SitePlan, refused: bool) -> "list[Problem]":
    try:
        from pfedgp.doctor.site import diagnose
    except ImportError:
        return []
    ca, key = (Path(file) if file else None for file in (plan.ca, plan.key))
    return diagnose(plan.superlink, ca, key, refused=refused)
