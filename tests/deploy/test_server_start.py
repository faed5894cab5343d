"""The server's start: a database that is whole or not there, what is said of damage and of a port, an early stop."""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path

import pytest

from pfedgp.operator import authority, superlink
from pfedgp.operator.database import damage, make_database
from pfedgp.operator.server import Server
from pfedgp.operator.state import ServerState
from pfedgp.operator.supervisor import Program, ServerSupervisor
from pfedgp.processes.flower import free_ports
from pfedgp.processes.linux import listens
from pfedgp_core.errors import RunFailedError
from tests.deploy.deployment import Deployment
from tests.waiting import wait_for

MOMENT = 0.002  # seconds between two looks for what passes quickly
HALF = """
from pathlib import Path
class ObjectStoreFactory:
  store = None
  def __init__(self, path):
    Path(path).write_text('half')
    """


def tables(database: Path) -> set[str]:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def make(database: Path, environment: Mapping[str, str] = {}, stopped: threading.Event | None = None) -> None:
    supervisor = ServerSupervisor(database.parent, lambda line: None)
    make_database(database, supervisor, os.environ | dict(environment), 60.0, stopped or threading.Event())


def other_flower(folder: Path, object_store: str | None) -> dict[str, str]:
    """The environment of a process that finds another Flower, with a module `object_store` or none."""
    package = folder / "other" / "flwr" / "supercore"
    package.mkdir(parents=True)
    for path in (package.parent, package):
        (path / "__init__.py").touch()
    if object_store is not None:
        (package / "object_store.py").write_text(object_store)
    return {"PYTHONPATH": str(folder / "other")}


def databases(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("superlink.db*")}


@pytest.mark.slow
def test_the_database_is_one_whole_file_and_is_left_as_it_is_afterwards(tmp_path: Path) -> None:
    database = tmp_path / "superlink.db"
    for left in ("superlink.db", "superlink.db-wal", "superlink.db.new", "superlink.db.new-wal"):
        (tmp_path / left).write_text("" if left == "superlink.db" else "what a killed process has left")

    make(database)

    assert databases(tmp_path) == {"superlink.db"}
    assert {"node", "run", "objects", "alembic_version"} <= tables(database)
    before = database.stat()
    make(database, other_flower(tmp_path, "raise SystemExit('not called')"))
    assert (database.stat().st_ino, database.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_flower_without_that_code_is_left_to_make_the_database_itself(tmp_path: Path) -> None:
    make(tmp_path / "superlink.db", other_flower(tmp_path, None))

    assert not databases(tmp_path)


def test_a_database_that_cannot_be_made_is_not_there_and_the_reason_is_told(tmp_path: Path) -> None:
    full = other_flower(tmp_path, HALF + "raise RuntimeError('database or disk is full')")

    with pytest.raises(RunFailedError, match=r"Cannot make the database \S+superlink\.db; .*database or disk is full"):
        make(tmp_path / "superlink.db", full)

    assert not databases(tmp_path)


def test_a_stop_while_the_database_is_made_leaves_none(tmp_path: Path) -> None:
    stopped = threading.Event()
    slow = other_flower(tmp_path, HALF + "import time\n    time.sleep(600)")
    new = tmp_path / "superlink.db.new"
    thread = threading.Thread(target=lambda: (wait_for(new.exists, 60, "half a database", MOMENT), stopped.set()))
    thread.start()

    make(tmp_path / "superlink.db", slow, stopped)

    thread.join()
    assert not databases(tmp_path)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("(sqlite3.OperationalError) table node already exists\n[SQL: \nCREATE", "table node already exists"),
        ("(sqlite3.OperationalError) duplicate column name: series_id\n", "duplicate column name: series_id"),
        ("(sqlite3.OperationalError) no such table: run\n", "no such table: run"),
        ("(sqlite3.DatabaseError) file is not a database\n", "file is not a database"),
        ("(sqlite3.DatabaseError) database disk image is malformed\n", "database disk image is malformed"),
        ("(sqlite3.OperationalError) database is locked\n", ""),
        ("(sqlite3.OperationalError) database or disk is full\n", ""),
        ("ERROR [uvicorn.error] Application startup failed. Exiting.\n", ""),
    ],
)
def test_damage_is_told_from_other_failures(said: str, reason: str) -> None:
    assert damage(said) == reason


def test_whose_port_it_is_is_known() -> None:
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with other, socket.create_server(("127.0.0.1", 0)) as mine:
        port = mine.getsockname()[1]
        assert listens(os.getpid(), port)
        assert not listens(other.pid, port)
    assert not listens(os.getpid(), port)


@pytest.fixture
def server(tmp_path: Path) -> Server:
    """A server without a database of its own making, on free ports."""
    state = ServerState(tmp_path / "state")
    state.prepare()
    state.database.write_text("there")
    certs = tmp_path / "certs"
    authority.issue(certs, ["localhost"], [])
    fleet, control = free_ports(2)
    return Server(state, certs, ("127.0.0.1", fleet), ("127.0.0.1", control), superexec=False)


def supervise(
    monkeypatch: pytest.MonkeyPatch, server: Server, code: str, stopped: threading.Event | None = None
) -> None:
    """Run a server whose SuperLink is a piece of Python."""
    program = Program("superlink", [sys.executable, "-c", code], os.environ, server.state.path)
    monkeypatch.setattr(superlink, "_superlink", lambda server: program)
    superlink._supervise(server, stopped or threading.Event(), 0o022)


def test_a_damaged_database_is_told_with_its_remedy(monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    code = "raise RuntimeError('(sqlite3.OperationalError) table node already exists')"

    with pytest.raises(RunFailedError) as failed:
        supervise(monkeypatch, server, code)

    assert str(failed.value).startswith(
        f"The database {server.state.database} is damaged (table node already exists): delete {server.state.database}* "
    )


@pytest.mark.parametrize("option", ["fleet", "control"])
def test_a_port_that_another_server_took_in_the_meantime_is_named(
    monkeypatch: pytest.MonkeyPatch, server: Server, option: str
) -> None:
    address = getattr(server, option)
    with socket.create_server(address), pytest.raises(RunFailedError) as failed:
        supervise(monkeypatch, server, "raise SystemExit('Application startup failed.')")

    assert str(failed.value) == (
        f"Cannot listen on 127.0.0.1:{address[1]}: another program listens there; give another --{option}-address."
    )


@pytest.mark.slow
def test_another_servers_answers_do_not_make_this_one_ready(monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    late = "import time; time.sleep(4); raise SystemExit(3)"
    stopped = threading.Event()
    end = threading.Timer(30.0, stopped.set)  # of a server that does take itself for ready
    end.start()
    with (
        socket.create_server(server.fleet),
        socket.create_server(server.control),
        pytest.raises(RunFailedError, match="Cannot listen on"),
    ):
        supervise(monkeypatch, server, late, stopped)

    end.cancel()
    assert not server.state.has_server()


@pytest.mark.slow
def test_the_programs_of_a_server_that_was_killed_are_waited_for(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    ends = [sys.executable, "-c", "import time; time.sleep(2)", "flower-superlink"]
    with subprocess.Popen(ends) as former:
        server.state.write_server({"control_address": "127.0.0.1:1", "ca": "", "processes": {"superlink": former.pid}})
        assert superlink._former(server.state) == [former.pid]
        thread = threading.Thread(target=former.wait)  # as the system does for a process whose parent was killed
        thread.start()
        superlink._wait_for_the_end_of(superlink._former(server.state), threading.Event())
        assert former.poll() == 0
        thread.join()
    assert "waiting for the end of the programs of the former server" in capsys.readouterr().out
    assert superlink._former(server.state) == []


def test_a_program_of_a_server_that_was_killed_which_does_not_end_is_killed(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(superlink, "FORMER_ENDS", 0.3)
    deaf = [sys.executable, "-c", "import time; time.sleep(600)", "flower-superlink"]
    with subprocess.Popen(deaf) as former:
        server.state.write_server({"control_address": "127.0.0.1:1", "ca": "", "processes": {"superlink": former.pid}})
        superlink._wait_for_the_end_of(superlink._former(server.state), threading.Event())
        assert former.wait(30.0) == -signal.SIGKILL


def test_a_stop_before_readiness_says_stopped_and_leaves_no_record(
    monkeypatch: pytest.MonkeyPatch, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped = threading.Event()
    log = server.state.logs / "superlink.log"

    def stop() -> None:
        wait_for(lambda: log.exists() and log.stat().st_size, 60, "the first line of the log", MOMENT)
        stopped.set()

    thread = threading.Thread(target=stop)
    thread.start()

    supervise(monkeypatch, server, "import time; print('starts', flush=True); time.sleep(600)", stopped)

    thread.join()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1
    assert lines[0].endswith(" stopped")
    assert not server.state.has_server()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "after", "more"),
    [
        (signal.SIGKILL, "superlink.db*", 0.1),  # while the schema is made
        (signal.SIGTERM, "superlink.db*", 0.1),
        (signal.SIGKILL, "superlink.db", 0.5),  # while the SuperLink starts
    ],
)
def test_a_server_that_was_stopped_in_its_first_start_starts_again(
    tmp_path: Path, number: signal.Signals, after: str, more: float
) -> None:
    with Deployment(tmp_path, ["ward-a"]) as deployment:
        command = ["server", "--certs", str(deployment.certs), "--state", str(deployment.state)]
        command += ["--fleet-address", deployment.superlink, "--control-address", deployment.control]
        first = subprocess.Popen(
            [sys.executable, "-P", "-m", "pfedgp", *command],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            wait_for(lambda: any(deployment.state.glob(after)), 60, after, MOMENT)
            time.sleep(more)
            os.killpg(first.pid, number)
            printed = first.communicate(timeout=60)[0]
        finally:
            with suppress(ProcessLookupError):
                os.killpg(first.pid, signal.SIGKILL)
        if number == signal.SIGTERM:
            assert first.returncode == 0
            assert printed.rstrip().endswith(" stopped")
            assert "sites connect" not in printed
            assert not (deployment.state / "server.json").exists()

        deployment.start_server()

        assert [path.name for path in deployment.state.glob("superlink.db.new*")] == []
        assert deployment.server is not None
        assert deployment.server.stop() == 0
