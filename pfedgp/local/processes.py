"""Processes on this machine's loopback interface: SuperLink, SuperExec, the clients of several sites, Flower's CLI."""

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import psutil

from pfedgp.operator.addresses import is_open
from pfedgp.operator.app_bundle import app_files
from pfedgp.operator.superexec import COMMAND
from pfedgp.processes.child import signal_group, start_child
from pfedgp.processes.colours import without_colours
from pfedgp.processes.flower import flower_environment, flower_program, free_ports
from pfedgp.processes.signals import on_stop_signal
from pfedgp_core.config import Settings
from pfedgp_core.errors import RunFailedError
from pfedgp_core.files.json_file import parse_object

__all__ = ["LocalFlower", "write_app"]

CONNECTION = "local"
START_TIMEOUT = 60.0
STOP_TIMEOUT = 15.0


def write_app(folder: Path, settings: Settings, out: Path) -> None:
    """Write the installed apps as a directory that ``flwr run`` takes, with `settings` as its run config."""
    for name, content in app_files(settings.to_run_config() | {"out": str(out)}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


class LocalFlower:
    """A context manager that starts Flower's processes and, at its end, stops exactly these.

    Parameters
    ----------
    folder : Path
        Takes each process's log and Flower's files, so that nothing touches the user's own Flower configuration.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        self.port, self.fleet_port = free_ports(2)
        home = self._home("cli")
        (home / "config.toml").write_text(
            f'[superlink]\ndefault = "{CONNECTION}"\n\n'
            f'[superlink.{CONNECTION}]\naddress = "127.0.0.1:{self.port}"\ninsecure = true\n',
            encoding="utf-8",
        )
        return self

    def __exit__(self, *reason: object) -> None:
        with on_stop_signal(lambda _: None):  # the end has begun, and nothing may cut it short
            self._stop()

    def _stop(self) -> None:
        for process in reversed(self.processes.values()):
            signal_group(process, signal.SIGTERM)
        deadline = time.monotonic() + STOP_TIMEOUT
        for process in reversed(self.processes.values()):
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.1, deadline - time.monotonic()))
            # Whatever a process started itself is in its group and goes with it.
            signal_group(process, signal.SIGKILL)
            process.wait()
        # What the SuperLink started is in no group of ours: it ends by itself soon after, where nothing keeps it.
        while (left := self._left()) and time.monotonic() < deadline:
            time.sleep(0.1)
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _left(self) -> list[int]:
        """Processes below those that were started here."""
        homes = {str(self._home(name)) for name in self.processes if not name.startswith("log-")}
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                if process.environ().get("FLWR_HOME") in homes:
                    found.append(process.pid)
        return found

    def start_superlink(self) -> None:
        """Start the SuperLink, wait until its two ports are open, and start the SuperExec that it leaves runs to."""
        secret = self.folder / "superexec.secret"
        with os.fdopen(os.open(secret, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(secrets.token_bytes(32))
        self._start(
            "superlink",
            *(flower_program("flower-superlink"), "--insecure", "--host", "127.0.0.1", "--port", str(self.port)),
            *("--fleet-api-type", "grpc-rere", "--fleet-api-address", f"127.0.0.1:{self.fleet_port}"),
            *("--isolation", "process", "--superexec-auth-secret-file", str(secret)),
            "--disable-runtime-dependency-installation",
        )
        deadline = time.monotonic() + START_TIMEOUT
        while not all(is_open("127.0.0.1", port) for port in (self.port, self.fleet_port)):
            self.check("superlink")
            if time.monotonic() > deadline:
                last = self.tail("superlink")
                raise RunFailedError(f"The SuperLink did not start within {START_TIMEOUT:g} s: {last}")
            time.sleep(0.1)
        self._start(
            "superexec",
            *COMMAND,
            *("--insecure", "--runtime-api-address", f"127.0.0.1:{self.port}"),
            *("--superexec-auth-secret-file", str(secret)),
        )

    def start_site(
        self, index: int, sites: int, fleet_port: int | None = None, *, stock: bool = False, options: Sequence[str] = ()
    ) -> None:
        """Start one site's client, which has a part of the simulated data set.

        Parameters
        ----------
        index, sites : int
            Which part, and of how many.
        fleet_port : int, optional
            Leads it through another port than the SuperLink's own.
        stock : bool
            Let it run Flower's own SuperNode, unchanged.
        options : sequence of str
            More options of ``pfedgp client``.
        """
        name = f"site-{index}"
        self._start(
            name,
            *(sys.executable, "-P", "-m", "pfedgp", "client", "--insecure"),
            *("--superlink", f"127.0.0.1:{fleet_port or self.fleet_port}"),
            *("--partition-id", str(index), "--num-partitions", str(sites)),
            *("--state", str(self.folder / name), *(["--stock"] if stock else []), *options),
        )

    def submit(self, app: Path) -> str:
        """Start a run of the app in a directory and return its id."""
        answer = self.flwr("run", str(app), CONNECTION, "--format", "json")
        if "run-id" not in answer:
            raise RunFailedError(f"Flower refused the run: {answer.get('error-message', answer)}")
        return str(answer["run-id"])

    def status(self, run_id: str) -> tuple[str, str]:
        """Return a run's status, for example ``finished:completed``, and its details."""
        runs = self.flwr("ls", CONNECTION, "--run-id", run_id, "--format", "json").get("runs", [])
        return (str(runs[0]["status"]), str(runs[0].get("status-details") or "")) if runs else ("unknown", "")

    def flwr(self, *arguments: str) -> dict[str, Any]:
        """Call Flower's CLI and return its JSON answer."""
        done = subprocess.run(
            [flower_program("flwr"), *arguments],
            env=self._environment("cli"),
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        try:
            return parse_object(done.stdout[done.stdout.index("{") :])
        except ValueError:
            text = " ".join(without_colours(done.stdout + done.stderr).split())
            raise RunFailedError(f"flwr {arguments[0]} gave no answer: {text[-500:]}") from None

    def follow(self, run_id: str) -> Iterator[str]:
        """Yield what the server app prints, line by line, until the run is over."""
        name = f"log-{run_id}"
        with (self.folder / f"{name}.err").open("wb") as errors:
            command = [flower_program("flwr"), "log", run_id, CONNECTION, "--stream"]
            process = start_child(command, self._environment("cli"), subprocess.PIPE, errors)
        self.processes[name] = process
        assert process.stdout is not None
        for line in process.stdout:
            yield without_colours(line.decode("utf-8", "replace").rstrip("\n"))
        process.wait()

    def check(self, name: str) -> None:
        """Raise RunFailedError where a process has ended by itself."""
        code = self.processes[name].poll()
        if code is not None:
            raise RunFailedError(f"{name} ended with exit code {code}: {self.tail(name)}")

    def tail(self, name: str, lines: int = 5) -> str:
        """The end of a process's log, on one line."""
        text = without_colours((self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace"))
        return " | ".join(line.strip() for line in text.splitlines()[-lines:] if line.strip()) or "no output"

    def _start(self, name: str, program: str, *arguments: str) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes[name] = start_child([program, *arguments], self._environment(name), log)

    def _home(self, name: str) -> Path:
        home = self.folder / f"{name}-home"
        home.mkdir(parents=True, exist_ok=True)
        return home

    def _environment(self, name: str) -> dict[str, str]:
        return flower_environment(self._home(name), FLWR_SUPEREXEC_TASK_POLL_INTERVAL="0.05")
