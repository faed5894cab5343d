"""The server of a deployment: Flower's SuperLink and SuperExec, in the form that survives a crash of either."""

import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization

from pfedgp.operator.addresses import check_free, is_loopback, is_open, join, reachable_as
from pfedgp.operator.certificates import read_certificate, subject_names
from pfedgp.operator.control import Control
from pfedgp.operator.sites import SiteWatch
from pfedgp.operator.state import StateFolder, is_network_file_system
from pfedgp.operator.supervisor import Program, Supervisor
from pfedgp.simulate import QUIET
from pfedgp_core.errors import ConfigError, RunFailedError
from pfedgp_core.exchange import software_versions

__all__ = ["Server", "check_certificates", "environment", "program", "run_server", "run_superexec"]

START_TIMEOUT = 90.0
WARN_DAYS = 30
DAY = 86400.0


@dataclass(frozen=True)
class Server:
    """What the operator has chosen.

    Parameters
    ----------
    state : StateFolder
    certs : Path
        Folder of ``pfedgp certs``.
    fleet, control : tuple of str and int
        Where sites and operators are listened to.
    database : bool
        Keep runs and registrations on disk.
    superexec : bool
        Start a SuperExec too.
    """

    state: StateFolder
    certs: Path
    fleet: tuple[str, int]
    control: tuple[str, int]
    database: bool = True
    superexec: bool = True

    @property
    def ca(self) -> Path:
        """Certificate of the authority."""
        return self.certs / "ca.crt"

    @property
    def control_address(self) -> str:
        """Where programs on this machine reach the Control API."""
        return join(reachable_as(self.control[0]), self.control[1])


def run_server(server: Server) -> None:
    """Run the server until it is told to stop.

    Raises
    ------
    PFedGPError
        It cannot start; the text says why.
    """
    until = check_certificates(server.certs)
    _check_control_name(server)
    server.state.prepare()
    with server.state.locked():
        server.state.make_secret()
        check_free(*server.fleet, "--fleet-address")
        check_free(*server.control, "--control-address")
        for line in _warnings(server, until):
            _say(f"warning: {line}")
        with _stop_signal() as stopped:
            _supervise(server, stopped)


def run_superexec(state: StateFolder, runtime: str, ca: Path, secret: Path) -> None:
    """Run a SuperExec alone, for a SuperLink that runs elsewhere, until told to stop.

    Parameters
    ----------
    state : StateFolder
        Its ``runs`` takes the folders of the runs.
    runtime : str
        ``HOST:PORT`` of the SuperLink's Control and Runtime API.
    ca : Path
        Certificate of the authority.
    secret : Path
        The secret that the SuperLink has; waited for, because that one makes it.
    """
    read_certificate(ca)
    state.prepare()
    with state.locked("lock-superexec"), _stop_signal() as stopped:
        supervisor = Supervisor(state.logs, _say)
        _wait_for_secret(secret, stopped)
        if stopped.is_set():
            return
        try:
            supervisor.start(_superexec(state, runtime, ca, secret))
            _say(f"SuperExec of the SuperLink at {runtime}; runs are written to {state.runs}")
            while not stopped.wait(0.5):
                supervisor.check()
        finally:
            supervisor.stop()
            _say("stopped")


def check_certificates(folder: Path) -> datetime:
    """Check that the server's certificate can be used, and return until when.

    Raises
    ------
    ConfigError
        A file is missing or damaged, does not fit the others, or the certificate is not valid today.
    """
    authority, certificate = read_certificate(folder / "ca.crt"), read_certificate(folder / "server.crt")
    try:
        key = serialization.load_pem_private_key((folder / "server.key").read_bytes(), password=None)
    except OSError as error:
        raise ConfigError(f"Cannot read {folder / 'server.key'} ({error.strerror}): run as its owner.") from error
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{folder / 'server.key'} is no unencrypted PEM key: restore it.") from error
    if key.public_key() != certificate.public_key():
        raise ConfigError(f"server.key and server.crt in {folder} do not belong together: restore the right pair.")
    try:
        certificate.verify_directly_issued_by(authority)
    except Exception as error:
        raise ConfigError(f"server.crt in {folder} is not signed by ca.crt there: restore the right pair.") from error
    now = datetime.now(UTC)
    for name, dated in (("ca.crt", authority), ("server.crt", certificate)):
        if not dated.not_valid_before_utc <= now <= dated.not_valid_after_utc:
            remedy = "make new ones" if name == "ca.crt" else "renew it with pfedgp certs --renew-server"
            raise ConfigError(
                f"{name} in {folder} is valid from {dated.not_valid_before_utc:%Y-%m-%d %H:%M} to "
                f"{dated.not_valid_after_utc:%Y-%m-%d %H:%M} UTC, not now: {remedy}, or set this machine's clock."
            )
    return min(authority.not_valid_after_utc, certificate.not_valid_after_utc)


def environment(home: Path) -> dict[str, str]:
    """Return the environment of a Flower process with its files in `home`."""
    # Flower's processes start each other by name, so they must find the programs of this installation.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    own = {"FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.5", "PYTHONUNBUFFERED": "1", "FLWR_LOG_LEVEL": "WARNING"}
    return os.environ | QUIET | own | {"FLWR_HOME": str(home), "PATH": path}


def program(name: str) -> str:
    """Return the path of one of Flower's programs.

    Raises
    ------
    RunFailedError
        It is not installed.
    """
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if not found:
        raise RunFailedError(f"The program {name} is not installed: install flwr in this Python environment.")
    return found


def _supervise(server: Server, stopped: threading.Event) -> None:
    supervisor = Supervisor(server.state.logs, _say)
    record: dict[str, Any] = {
        "pid": os.getpid(),
        "fleet_address": join(*server.fleet),
        "control_address": server.control_address,
        "ca": str(server.ca),
        "certs": str(server.certs),
        "database": server.database,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": software_versions(),
    }
    watch = SiteWatch(Control(server.control_address, server.ca), server.certs / "clients", _say)
    superlink = _superlink(server)
    try:
        supervisor.start(superlink)
        ready = [(reachable_as(host), port) for host, port in (server.fleet, server.control)]
        supervisor.wait(superlink, lambda: all(is_open(*a) for a in ready), START_TIMEOUT, stopped.is_set)
        if server.superexec and not stopped.is_set():
            address, secret = server.control_address, server.state.secret
            supervisor.start(_superexec(server.state, address, server.ca, secret))
        server.state.write_server(record | {"processes": _pids(supervisor)})
        _say(f"sites connect to port {server.fleet[1]} (gRPC, TLS, {join(*server.fleet)})")
        _say(f"pfedgp run, status and stop use --state {server.state.path} ({server.control_address})")
        watch.start()
        looked = time.monotonic()
        while not stopped.wait(0.5):
            if supervisor.check():
                watch.forget()
                server.state.write_server(record | {"processes": _pids(supervisor)})
            if time.monotonic() - looked > DAY:
                looked = time.monotonic()
                supervisor.shorten_logs()
                for line in _expiry(read_certificate(server.certs / "server.crt").not_valid_after_utc):
                    _say(f"warning: {line}")
    finally:
        watch.stop()
        supervisor.stop()
        _say("stopped")


def _superlink(server: Server) -> Program:
    certs, state = server.certs, server.state
    command = [
        program("flower-superlink"),
        *("--ssl-ca-certfile", str(server.ca)),
        *("--ssl-certfile", str(certs / "server.crt"), "--ssl-keyfile", str(certs / "server.key")),
        "--enable-supernode-auth",
        *("--fleet-api-type", "grpc-rere", "--fleet-api-address", join(*server.fleet)),
        *("--host", server.control[0], "--port", str(server.control[1])),
        *("--isolation", "process", "--superexec-auth-secret-file", str(state.secret)),
        "--disable-runtime-dependency-installation",
        *(["--database", str(state.database)] if server.database else []),
    ]
    return Program("superlink", command, environment(state.flwr), state.path)


def _superexec(state: StateFolder, runtime: str, ca: Path, secret: Path) -> Program:
    command = [
        program("flower-superexec"),
        *("--runtime-api-address", runtime, "--root-certificates", str(ca)),
        *("--superexec-auth-secret-file", str(secret)),
    ]
    # The server app's folder is the one of its SuperExec: relative paths of a run are below the state folder.
    return Program("superexec", command, environment(state.flwr), state.path)


def _pids(supervisor: Supervisor) -> dict[str, int]:
    return {program.name: program.process.pid for program in supervisor.programs if program.process}


def _check_control_name(server: Server) -> None:
    names = subject_names(read_certificate(server.certs / "server.crt"))
    host = reachable_as(server.control[0])
    if host not in names:
        raise ConfigError(
            f"The server certificate is not for {host}, the host of --control-address (it is for {', '.join(names)}): "
            "use one of these, or pfedgp certs --renew-server --san with all names."
        )


def _warnings(server: Server, until: datetime) -> Iterator[str]:
    yield from _expiry(until)
    if not is_loopback(server.control[0]):
        yield (
            f"the Control API listens on {join(*server.control)} and has no authentication: whoever reaches it can run "
            "code on this server; keep it on an internal network."
        )
    if not server.database:
        yield "without a database, runs and registrations are lost when the SuperLink restarts."
    elif kind := is_network_file_system(server.state.path):
        yield f"{server.state.path} lies on {kind}, where databases lose their locks: use a folder on a local disk."


def _expiry(until: datetime) -> Iterator[str]:
    days = (until - datetime.now(UTC)).days
    if days < WARN_DAYS:
        yield (
            f"the certificates end in {days} days, on {until:%Y-%m-%d}: pfedgp certs --renew-server, then restart this "
            "server."
        )


def _wait_for_secret(secret: Path, stopped: threading.Event) -> None:
    deadline = time.monotonic() + START_TIMEOUT
    while not secret.exists() and not stopped.wait(0.5):
        if time.monotonic() > deadline:
            raise ConfigError(f"There is no secret {secret}: the SuperLink makes it in its state folder, share that.")


@contextmanager
def _stop_signal() -> Iterator[threading.Event]:
    """An event that SIGTERM and Ctrl-C set."""
    stopped = threading.Event()
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda *_: stopped.set()) for number in numbers]
    try:
        yield stopped
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _say(line: str) -> None:
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}", flush=True)
