"""A deployment for a test: server, sites and runs, started by the product's own verbs, on this machine or in a lab."""

import json
import os
import signal
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from pfedgp.processes.flower import free_ports
from tests.conftest import QUIET
from tests.deploy.digit_images import write_digits
from tests.deploy.namespaces import Host
from tests.deploy.program import PROGRAM, Program, children, wait_for

__all__ = ["WARDS", "Deployment", "deployed"]

LOOPBACK = Host()
WARDS = {"ward-a": (0, 1), "ward-b": (2, 3), "ward-c": (4, 5)}  # three sites that have no digit in common


@contextmanager
def deployed(
    folder: Path,
    classes: Mapping[str, Iterable[int]],
    per_class: int = 30,
    server: Host = LOOPBACK,
    hosts: Sequence[Host] = (),
) -> Iterator["Deployment"]:
    """A server and connected sites, each with `per_class` images of its own digits in ``folder/data``."""
    with Deployment(folder, list(classes), server, hosts) as made:
        made.start_server()
        for name, own in classes.items():
            made.start_site(name, "--data", str(write_digits(made.data(name), own, per_class)))
        made.connected()
        yield made


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
        self.control = f"127.0.0.1:{self.control_port}"
        self.ca = self.certs / "ca.crt"
        self.server: Program | None = None
        self.sites: dict[str, Program] = {}
        self.others: list[Program] = []

    def __enter__(self) -> Self:
        done = self.call(
            "certs",
            "--san",
            self.server_host.address,
            "--client-names",
            *self.names,
            "--make-keys",
            "--out",
            str(self.certs),
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
                *("--control-address", self.control, *options),
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
                *("--ca", str(self.ca), "--key", str(self.key(name))),
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

    def stop_run(self, name: str) -> "subprocess.CompletedProcess[str]":
        """Call ``stop`` for a run."""
        return self.call("stop", name, "--state", str(self.state))

    def status(self, *run: str) -> dict[str, Any]:
        """What ``status --json`` says, of all runs or of one."""
        done = self.call("status", *run, "--json", "--state", str(self.state))
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout))

    def key(self, name: str) -> Path:
        """A site's private key; the public one lies beside it."""
        return self.certs / "clients" / name

    def data(self, name: str) -> Path:
        """A site's images, where `deployed` made them."""
        return self.folder / "data" / name

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
