"""A deployment for a test: server, sites and runs, started by the product's own verbs, on this machine or in a lab."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from pfedgp.local_processes import free_ports
from tests.conftest import QUIET
from tests.deploy.namespaces import Host

__all__ = ["Deployment", "Program", "children", "wait_for"]

T = TypeVar("T")
LOOPBACK = Host()
PROGRAM = (sys.executable, "-P", "-m", "pfedgp")


def wait_for(look: Callable[[], T], seconds: float, what: str) -> T:
    """Look again and again until there is something, and return it; the test fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        time.sleep(0.1)
    return found


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


class Program:
    """One verb of the product that runs in the background, with what it prints in a file.

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
    """

    def __init__(
        self,
        log: Path,
        host: Host,
        command: Sequence[str],
        environment: Mapping[str, str] = {},
        folder: Path | None = None,
    ) -> None:
        self.log, self.host = log, host
        with log.open("ab") as file:
            self.process = subprocess.Popen(
                [*host.prefix, *PROGRAM, *command],
                env=os.environ | QUIET | {"PYTHONUNBUFFERED": "1"} | dict(environment),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

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
            found = list(re.finditer(pattern, self.text, re.M))
            if len(found) >= times:
                return found
            assert self.process.poll() is None, f"ended with {self.process.poll()} before {pattern!r}:\n{self.text}"
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


class Deployment:
    """A server and its sites; a context manager that stops whatever it has started.

    Parameters
    ----------
    folder : Path
        Takes everything. Not too long, because sockets' names are short.
    names : sequence of str
        The sites.
    server : Host
    hosts : sequence of Host
        A machine for each site; all on the server's where there are none.
    """

    def __init__(self, folder: Path, names: Sequence[str], server: Host = LOOPBACK, hosts: Sequence[Host] = ()) -> None:
        self.folder, self.names, self.server_host = folder, list(names), server
        self.hosts = dict(zip(names, hosts or [server] * len(names), strict=True))
        self.certs, self.state, self.runs = folder / "certs", folder / "server", folder / "server" / "runs"
        self.fleet_port, self.control_port = (9092, 8000) if server.namespace else free_ports(2)
        self.superlink = f"{server.address}:{self.fleet_port}"
        self.server: Program | None = None
        self.sites: dict[str, Program] = {}
        self.others: list[Program] = []

    def __enter__(self) -> "Deployment":
        done = self.call(
            "certs", "--san", self.server_host.address, "--client-names", *self.names, "--out", str(self.certs)
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return self

    def __exit__(self, *reason: object) -> None:
        for program in [*self.others, *self.sites.values(), *([self.server] if self.server else [])]:
            with suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGCONT)
            for pid in children(program.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
            program.stop()

    def call(
        self, *command: str, host: Host | None = None, timeout: float = 120.0
    ) -> "subprocess.CompletedProcess[str]":
        """Run a verb to its end on the server's machine, or another."""
        return subprocess.run(
            [*(host or self.server_host).prefix, *PROGRAM, *command],
            env=os.environ | QUIET,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def start_server(self, *options: str) -> Program:
        """Start the server and wait until sites can connect."""
        self.server = Program(
            self.folder / "server.log",
            self.server_host,
            [
                *("server", "--certs", str(self.certs), "--state", str(self.state)),
                *("--fleet-address", f"{self.server_host.address}:{self.fleet_port}"),
                *("--control-address", f"127.0.0.1:{self.control_port}", *options),
            ],
        )
        self.server.says("registered", 90.0)
        return self.server

    def start_site(self, name: str, *options: str, environment: Mapping[str, str] = {}) -> Program:
        """Start a site with its options for data; `connected` waits for it."""
        self.sites[name] = Program(
            self.folder / f"{name}.log",
            self.hosts[name],
            [
                *("client", "--name", name, "--superlink", self.superlink, "--device", "cpu"),
                *("--ca", str(self.certs / "ca.crt"), "--key", str(self.certs / "clients" / name)),
                *("--state", str(self.site_state(name)), *options),
            ],
            environment,
        )
        return self.sites[name]

    def connected(self, *names: str, times: int = 1, seconds: float = 90.0) -> None:
        """Wait until sites are connected, for the `times`-th time since their first start."""
        for name in names or self.names:
            self.sites[name].says("Connected to ", seconds, times)

    def start_run(self, name: str, *options: str, verb: str = "run") -> Program:
        """Start, ``resume`` or ``attach`` to the run in the folder `runs`/`name`, in the background."""
        named = {
            "run": ["--out", str(self.runs / name)],
            "resume": [str(self.runs / name)],
            "attach": ["--attach", name],
        }[verb]
        command = "run" if verb == "attach" else verb
        program = Program(
            self.folder / f"{verb}-{name}.log",
            self.server_host,
            [command, "--state", str(self.state), *named, *options],
        )
        self.others.append(program)
        return program

    def site_state(self, name: str) -> Path:
        """A site's state folder."""
        return self.folder / name

    def pids(self, name: str) -> dict[str, int]:
        """Process ids of a site: supervisor, supernode, worker."""
        status = json.loads((self.site_state(name) / "client.json").read_text())
        return {key: status[key] for key in ("supervisor", "supernode", "worker") if status[key]}

    def progress(self, name: str) -> int:
        """The last round that a site has trained in, 0 before the first."""
        try:
            return int(json.loads((self.site_state(name) / "progress.json").read_text())["round"])
        except FileNotFoundError:
            return 0

    def processes(self) -> dict[str, int]:
        """Process ids of the server's programs."""
        return dict(json.loads((self.state / "server.json").read_text())["processes"])

    def server_app(self) -> int:
        """Process id of the ServerApp that runs, waited for."""
        assert self.server is not None
        server = self.server

        def look() -> list[int]:
            return [pid for pid, command in children(server.pid).items() if "flwr-serverapp" in command]

        return wait_for(look, 30.0, "a ServerApp runs")[0]

    def rounds(self, run: str) -> list[dict[str, Any]]:
        """The lines of a run's ``metrics.jsonl``, those that are whole."""
        try:
            text = (self.runs / run / "metrics.jsonl").read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def summary(self, run: str) -> dict[str, Any]:
        """A run's ``summary.json``."""
        return dict(json.loads((self.runs / run / "summary.json").read_text(encoding="utf-8")))
