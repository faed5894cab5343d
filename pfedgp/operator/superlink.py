"""The server of a deployment: Flower's SuperLink and SuperExec, started so that a run survives a crash of either."""

import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pfedgp.operator.addresses import check_free, is_open, join, reachable_as
from pfedgp.operator.authority import read_certificate
from pfedgp.operator.control import Control
from pfedgp.operator.database import GRACE, damage, make_database
from pfedgp.operator.server import Server
from pfedgp.operator.server_checks import check_certificates, check_control_name, expiry, warnings
from pfedgp.operator.sites import SiteWatch
from pfedgp.operator.state import ServerState
from pfedgp.operator.superexec import COMMAND
from pfedgp.operator.supervisor import Program, ServerSupervisor
from pfedgp.processes.called_as import called_as, shown
from pfedgp.processes.flower import flower_environment
from pfedgp.processes.linux import is_alive, listens
from pfedgp.processes.signals import on_stop_signal
from pfedgp_core.errors import ConfigError, RunFailedError
from pfedgp_core.files.pem import plain_certificate, plain_copy, plain_key
from pfedgp_core.files.private import as_private
from pfedgp_core.freed_memory import large_pages
from pfedgp_core.wire.carried import OBJECTS_FOLDER
from pfedgp_core.wire.versions import software_versions

__all__ = ["run_server", "run_superexec"]

START_TIMEOUT = 90.0
PORT_PATIENCE = 5.0  # seconds
FORMER_ENDS = 30.0  # seconds; the programs of a server that was killed end within two, on a loaded machine later
MINUTE, DAY = 60.0, 86400.0


def run_server(server: Server) -> None:
    """Run the server until it is told to stop.

    Raises
    ------
    PFedGPError
        It cannot start; the text says why.
    """
    until = check_certificates(server.certs)
    check_control_name(server.certs, reachable_as(server.control[0]))
    stopped = threading.Event()
    with as_private() as umask, server.state.prepare().locked(), on_stop_signal(lambda _: stopped.set()):
        server.state.make_secret()
        _wait_for_the_end_of(_former(server.state), stopped)
        check_free(*server.fleet, "--fleet-address", PORT_PATIENCE)
        check_free(*server.control, "--control-address", PORT_PATIENCE)
        for line in warnings(server, until):
            _say(f"warning: {line}")
        _say(f"starting from {shown(str(server.state.path))}; a line says when sites can connect")
        _supervise(server, stopped, umask)


def run_superexec(state: ServerState, runtime: str, ca: Path, secret: Path) -> None:
    """Run a SuperExec alone, for a SuperLink that runs elsewhere, until told to stop.

    Parameters
    ----------
    state : ServerState
        Its ``runs`` takes the folders of the runs.
    runtime : str
        ``HOST:PORT`` of the SuperLink's Control and Runtime API.
    ca : Path
        Certificate of the authority.
    secret : Path
        The secret that the SuperLink has; waited for, because that one makes it.
    """
    read_certificate(ca)
    stopped = threading.Event()
    with as_private() as umask, state.prepare().locked("lock-superexec"), on_stop_signal(lambda _: stopped.set()):
        supervisor = ServerSupervisor(state.logs, _say)
        _wait_for_secret(secret, stopped)
        if stopped.is_set():
            return
        try:
            supervisor.start(_superexec(state, runtime, ca, secret, umask))
            _say(f"SuperExec of the SuperLink at {runtime}; runs are written to {shown(str(state.runs))}")
            while not stopped.wait(0.5):
                supervisor.check()
        finally:
            supervisor.stop()
            _say("stopped")


def _environment(home: Path) -> dict[str, str]:
    own = {"FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.5", "FLWR_LOG_LEVEL": "WARNING"}
    return flower_environment(home, **own, **large_pages(os.environ))


def _supervise(server: Server, stopped: threading.Event, umask: int) -> None:
    supervisor = ServerSupervisor(server.state.logs, _say)
    record: dict[str, Any] = {
        "pid": os.getpid(),
        "fleet_address": join(*server.fleet),
        "control_address": server.control_address,
        "control_listens": join(*server.control),
        "ca": str(plain_copy(server.ca, server.state.flwr, plain_certificate)),
        "certs": str(server.certs),
        "database": server.database,
        "connections": server.connections,
        "superexec": server.superexec,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": software_versions(),
    }
    watch = SiteWatch(Control(server.control_address, server.ca), server.certs / "clients", _say)
    superlink = _superlink(server)
    try:
        if server.database:
            state = server.state
            make_database(state.database, supervisor, _environment(state.flwr), START_TIMEOUT, stopped)
        if not stopped.is_set():
            _start_superlink(server, supervisor, superlink, stopped)
        if stopped.is_set():
            return
        if server.superexec:
            address, secret = server.control_address, server.state.secret
            beside = {OBJECTS_FOLDER: str(server.state.objects)}  # a server app here sees what the SuperLink keeps
            supervisor.start(_superexec(server.state, address, server.ca, secret, umask, beside))
        server.state.write_server(record | {"processes": _pids(supervisor)})
        _say(f"sites connect to port {server.fleet[1]} (gRPC, TLS, {join(*server.fleet)})")
        if called_as():
            _say(f"{called_as()} ... runs, shows and stops runs ({server.control_address})")
        else:
            _say(f"pfedgp run, status and stop use --state {server.state.path} ({server.control_address})")
        watch.start()
        looked = shortened = time.monotonic()
        while not stopped.wait(0.5):
            if supervisor.check():
                watch.forget()
                server.state.write_server(record | {"processes": _pids(supervisor)})
            if time.monotonic() - shortened > MINUTE:  # a stranger's calls write lines too
                shortened = time.monotonic()
                supervisor.shorten_logs()
            if time.monotonic() - looked > DAY:
                looked = time.monotonic()
                for line in expiry(read_certificate(server.certs / "server.crt").not_valid_after_utc):
                    _say(f"warning: {line}")
    finally:
        watch.stop()
        supervisor.stop()
        _say("stopped")


def _start_superlink(
    server: Server, supervisor: ServerSupervisor, superlink: Program, stopped: threading.Event
) -> None:
    addresses = (server.fleet, "--fleet-address"), (server.control, "--control-address")

    def ready() -> bool:
        # Another server's answer on a port is not this one's: both may have found it free.
        pid = superlink.process.pid if superlink.process else 0
        return all(is_open(reachable_as(host), port) and listens(pid, port) for (host, port), _ in addresses)

    supervisor.start(superlink)
    try:
        supervisor.wait(superlink, ready, START_TIMEOUT, stopped.is_set)
    except RunFailedError as error:
        if stopped.wait(GRACE):
            return
        supervisor.stop()
        database = server.state.database
        if server.database and (reason := damage(supervisor.output(superlink))):
            raise RunFailedError(
                f"The database {database} is damaged ({reason}): delete {database}* and start again; sites are then "
                f"registered again from {server.certs / 'clients'}, run folders are not touched, and Flower's list of "
                "runs is empty."
            ) from error
        for (host, port), option in addresses:
            check_free(host, port, option)
        raise


def _superlink(server: Server) -> Program:
    certs, state = server.certs, server.state
    certificate = plain_copy(certs / "server.crt", state.flwr, plain_certificate)
    key = plain_copy(certs / "server.key", state.flwr, plain_key)
    command = [
        *(sys.executable, "-P", "-m", "pfedgp.operator.inside_superlink.process", str(server.connections)),
        str(state.objects),
        "flower-superlink",
        *("--ssl-ca-certfile", str(plain_copy(server.ca, state.flwr, plain_certificate))),
        *("--ssl-certfile", str(certificate), "--ssl-keyfile", str(key)),
        "--enable-supernode-auth",
        *("--fleet-api-type", "grpc-rere", "--fleet-api-address", join(*server.fleet)),
        *("--host", server.control[0], "--port", str(server.control[1])),
        *("--isolation", "process", "--superexec-auth-secret-file", str(state.secret)),
        "--disable-runtime-dependency-installation",
        *(["--database", str(state.database)] if server.database else []),
    ]
    return Program("superlink", command, _environment(state.flwr), state.path)


def _superexec(
    state: ServerState, runtime: str, ca: Path, secret: Path, umask: int, beside: Mapping[str, str] | None = None
) -> Program:
    ca = plain_copy(ca, state.flwr, plain_certificate)
    command = [
        *COMMAND,
        *("--runtime-api-address", runtime, "--root-certificates", str(ca)),
        *("--superexec-auth-secret-file", str(secret)),
    ]
    # The server app's folder is the one of its SuperExec: relative paths of a run are below the state folder.
    # Reports and models are there to be shared: the folders of runs get the rights that the operator gives.
    return Program("superexec", command, _environment(state.flwr) | dict(beside or {}), state.path, umask)


def _pids(supervisor: ServerSupervisor) -> dict[str, int]:
    return {program.name: program.process.pid for program in supervisor.programs if program.process}


def _former(state: ServerState) -> list[int]:
    """The programs that the server before this one has started, those that still run."""
    try:
        processes = dict(state.server().get("processes", {}))
    except (ConfigError, TypeError, ValueError):
        return []
    return [pid for name, pid in processes.items() if isinstance(pid, int) and is_alive(pid, f"flower-{name}")]


def _wait_for_the_end_of(pids: list[int], stopped: threading.Event) -> None:
    """Wait for programs whose server was killed; one that holds on to its port is killed as well."""
    deadline = time.monotonic() + FORMER_ENDS
    if pids:
        _say("waiting for the end of the programs of the former server")
    while left := [pid for pid in pids if is_alive(pid, "flower-")]:
        if time.monotonic() > deadline:
            for pid in left:
                _say(f"a program of the former server did not end (process {pid}) and is killed")
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return
        if stopped.wait(0.2):
            return


def _wait_for_secret(secret: Path, stopped: threading.Event) -> None:
    deadline = time.monotonic() + START_TIMEOUT
    while not secret.exists() and not stopped.wait(0.5):
        if time.monotonic() > deadline:
            raise ConfigError(f"There is no secret {secret}: the SuperLink makes it in its state folder, share that.")


def _say(line: str) -> None:
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}", flush=True)
