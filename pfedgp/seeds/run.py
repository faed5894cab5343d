"""One seed's run as a process: ``pfedgp simulate``, or ``pfedgp resume`` where it was cut off before."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from pfedgp.processes.child import signal_group, start_child
from pfedgp_core.config import Settings
from pfedgp_core.errors import ArtefactError
from pfedgp_core.files.json_file import read_object
from pfedgp_core.files.whole import explained, write_whole
from server.run.resume import has_config
from server.run.settings import dump_settings, read_kept_settings

__all__ = ["SeedRun"]

_THREADS = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


@dataclass
class SeedRun:
    """A run below the folder of all seeds.

    Attributes
    ----------
    settings : Settings
        With its seed.
    above : Path
        The folder of all seeds: the run's is ``seed-N`` in it, its console ``seed-N.log``.
    of : str
        Before its name in what is printed.
    """

    settings: Settings
    above: Path
    of: str = ""
    _process: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The name of its folder."""
        return f"seed-{self.settings.seed}"

    @property
    def called(self) -> str:
        """How it is called in what is printed."""
        return f"{self.of}{self.name}"

    @property
    def path(self) -> Path:
        """Its folder."""
        return self.above / self.name

    @property
    def log(self) -> Path:
        """What it prints."""
        return self.above / f"{self.name}.log"

    def begun(self) -> bool:
        """Whether its folder holds a run of the same settings.

        Raises
        ------
        ArtefactError
            It holds another run.
        """
        if not has_config(self.path):
            return False
        if Settings.from_run_config(read_kept_settings(self.path / "config.toml")) != self.settings:
            raise ArtefactError(f"{self.path} holds a run of other settings: give another folder with --out.")
        return True

    def completed(self) -> bool:
        """Whether its results are there."""
        summary = self.path / "summary.json"
        return self.begun() and summary.exists() and read_object(summary).get("status") == "completed"

    def start(self, workers: int) -> None:
        """Start it, or go on with it."""
        if self.begun():
            command = ["resume", str(self.path)]
        else:
            config = self.above / f"{self.name}.toml"
            write_whole(config, dump_settings(self.settings))
            command = ["simulate", "--config", str(config), "--out", str(self.path)]
        with explained(self.log), self.log.open("ab") as log:
            whole = [sys.executable, "-P", "-m", "pfedgp", *command, "--workers", str(workers)]
            self._process = start_child(whole, os.environ | _THREADS, log)

    def running(self) -> bool:
        """Whether its process is there."""
        return self._process is not None and self._process.poll() is None

    def ask_to_stop(self) -> None:
        """Let it end after its checkpoint."""
        if self._process is not None and self.running():
            self._process.send_signal(signal.SIGTERM)

    def stop(self, seconds: float) -> None:
        """Wait for its end, and then end it with all that it has started."""
        if self._process is None:
            return
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            signal_group(self._process, signal.SIGKILL)
            self._process.wait()
