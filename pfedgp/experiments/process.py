"""One cell as a process: ``pfedgp simulate`` with one worker, or ``pfedgp resume`` where it was killed before."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

from pfedgp.experiments.cells import Cell
from pfedgp.experiments.folder import ExperimentFolder
from pfedgp.processes.child import signal_group, start_child
from pfedgp_core.config import Settings
from pfedgp_core.errors import PFedGPError, UnreadableFileError
from pfedgp_core.files.json_file import read_object
from pfedgp_core.files.whole import explained, write_whole
from server.run.claim import is_claimed
from server.run.resume import has_config
from server.run.settings import dump_settings, read_settings_file

__all__ = ["CellProcess", "stop_all"]

_THREADS = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
_SAID = re.compile(r"^pfedgp: (.+)$", re.MULTILINE)
_LAST = 64 * 1024  # bytes of a log in which the reason of a failure is looked for
KILL_AFTER = 8.0  # seconds
FORMER = 90.0  # seconds


class CellProcess:
    """Starts a cell's run, or what is left of it.

    Parameters
    ----------
    folder : ExperimentFolder
    cell : Cell
    gpu : str
        The GPU it may see, as in ``CUDA_VISIBLE_DEVICES``; empty: none.
    """

    def __init__(self, folder: ExperimentFolder, cell: Cell, gpu: str = "") -> None:
        self.cell, self.run, self._log = cell, folder.run(cell), folder.log(cell)
        self.began = time.monotonic()
        self._process: subprocess.Popen[bytes] | None = None
        self._gpu, self._base = gpu, folder.base(cell)
        with explained(self._log.parent):
            self._log.parent.mkdir(parents=True, exist_ok=True)
        if not self.completed():
            self._start()

    def _start(self) -> None:
        self._wait_for_former()
        config = self._log.with_suffix(".toml")
        write_whole(config, dump_settings(self.cell.settings))
        goes_on = self._can_go_on() and not self.cell.of
        if not goes_on:
            with explained(self.run):
                if self.run.exists():
                    shutil.rmtree(self.run)
        environment, gpus = os.environ | _THREADS, list[str]()
        if self._gpu:
            environment["CUDA_VISIBLE_DEVICES"], gpus = self._gpu, ["--gpus", "1"]
        if bounds := self.cell.bounds:
            numbers = map(str, (bounds.delta, *bounds.shares))
            command = ["pfedgp.experiments.bounds", str(self._base), str(config), str(self.run), *numbers]
        elif self.cell.of:
            command = ["pfedgp.experiments.retest", str(self._base), str(config), str(self.run)]
        elif goes_on:
            command = ["pfedgp", "resume", str(self.run), "--workers", "1", *gpus]
        else:
            command = ["pfedgp", "simulate", "--config", str(config), "--out", str(self.run), "--workers", "1", *gpus]
        with explained(self._log), self._log.open("wb") as log:
            self._process = start_child([sys.executable, "-P", "-m", *command], environment, log)

    def _wait_for_former(self) -> None:
        """Wait for the process of a call that was killed: it is about to end, and has the folder until then."""
        until = time.monotonic() + FORMER
        while is_claimed(self.run) and time.monotonic() < until:
            time.sleep(0.1)

    def _can_go_on(self) -> bool:
        """Whether there is a run of exactly this cell."""
        try:
            return (
                has_config(self.run)
                and Settings.from_run_config(read_settings_file(self.run / "config.toml")) == self.cell.settings
            )
        except PFedGPError:
            return False

    def completed(self) -> bool:
        """Whether the run has its results."""
        if not self._can_go_on():
            return False
        try:
            return read_object(self.run / "summary.json").get("status") == "completed"
        except UnreadableFileError:
            return False

    def ended(self) -> bool:
        """Whether the process has ended, or there was nothing left to do."""
        return self._process is None or self._process.poll() is not None

    @property
    def rounds(self) -> int:
        """Rounds that are done."""
        lines = self.run / "metrics.jsonl"
        try:
            return lines.read_bytes().count(b"\n")
        except OSError:
            return 0

    def reason(self) -> str:
        """Why it failed, in the process's own words."""
        try:
            with self._log.open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _LAST))
                text = file.read().decode("utf-8", "replace")
        except OSError:
            text = ""
        said = _SAID.findall(text)
        code = None if self._process is None else self._process.returncode
        return str(said[-1]) if said else f"its process ended with {code}; see {self._log}"

    def tidy(self) -> None:
        """Remove what only a run that goes on needs."""
        for name in ("checkpoints", "kept"):
            shutil.rmtree(self.run / name, ignore_errors=True)

    def ask_to_stop(self) -> None:
        """Let it end after its checkpoint."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def stop(self, until: float) -> None:
        """Wait for its end up to a moment of the monotonic clock, and then end it."""
        if self._process is None:
            return
        try:
            self._process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            signal_group(self._process, signal.SIGKILL)
            self._process.wait()


def stop_all(processes: list[CellProcess]) -> None:
    """End all of them within seconds; each goes on from its last checkpoint when it is started again."""
    for process in processes:
        process.ask_to_stop()
    until = time.monotonic() + KILL_AFTER
    for process in processes:
        process.stop(until)
