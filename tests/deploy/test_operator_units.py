"""Parts of the operator's side that need no process: addresses, the app bundle, certificates, lines of a log."""

import io
import json
import os
import socket
import sys
import threading
import time
import tomllib
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from pfedgp.cli import main
from pfedgp.operator import certificates
from pfedgp.operator.addresses import check_free, is_loopback, overlap, parse_address, reachable_as
from pfedgp.operator.app_bundle import build_bundle
from pfedgp.operator.connection import Target
from pfedgp.operator.control import Control, Node
from pfedgp.operator.follow import Printed
from pfedgp.operator.overview import _connection, _server, _site
from pfedgp.operator.server_checks import check_certificates
from pfedgp.operator.sites import SiteWatch, read_public_key
from pfedgp.operator.state import StateFolder
from pfedgp.operator.supervisor import Program, Supervisor
from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError, RunFailedError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pathspec.*")


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [("192.0.2.10:9092", "192.0.2.10", 9092), ("fl.example.org:1", "fl.example.org", 1), ("[::1]:65535", "::1", 65535)],
)
def test_addresses_are_read(text: str, host: str, port: int) -> None:
    assert parse_address(text, "--x") == (host, port)


@pytest.mark.parametrize("text", ["9092", "host", "host:", ":9092", "host:0", "host:65536", "::1:9092", "https://a:1"])
def test_other_texts_are_no_addresses(text: str) -> None:
    with pytest.raises(ConfigError, match="HOST:PORT"):
        parse_address(text, "--x")


def test_a_server_on_all_addresses_is_reached_on_the_loopback_one() -> None:
    assert [reachable_as(host) for host in ("0.0.0.0", "::", "192.0.2.1")] == ["127.0.0.1", "::1", "192.0.2.1"]
    assert [is_loopback(host) for host in ("127.0.0.2", "::1", "localhost", "0.0.0.0", "db.example.org")] == [
        *(True, True, True),
        *(False, False),
    ]


def test_two_servers_on_one_port_need_different_hosts() -> None:
    assert overlap(("0.0.0.0", 1), ("127.0.0.1", 1)) and overlap(("localhost", 1), ("127.0.0.1", 1))
    assert not overlap(("0.0.0.0", 1), ("127.0.0.1", 2)) and not overlap(("192.0.2.1", 1), ("127.0.0.1", 1))


def test_a_program_that_ends_as_it_starts_is_not_ready_and_its_last_error_is_told(tmp_path: Path) -> None:
    (tmp_path / "superlink.log").write_text("ERROR : of an earlier start\n")
    code = (
        "import sys; print('\\x1b[93mWARNING\\x1b[0m :   EXPERIMENTAL: may change.');"
        "print('2026-01-01T10:00:00.763Z ERROR [uvicorn.error] address already in use'); print('bye'); sys.exit(3)"
    )
    supervisor = Supervisor(tmp_path, lambda line: None)
    program = Program("superlink", [sys.executable, "-c", code], os.environ, tmp_path)
    supervisor.start(program)
    try:
        # Another program's answer on the port is not this one's.
        with pytest.raises(RunFailedError) as failed:
            supervisor.wait(program, lambda: program.process is not None and program.process.wait() == 3, 30, bool)
    finally:
        supervisor.stop()
    assert str(failed.value) == "The superlink ended with exit code 3: address already in use."


def test_an_address_of_another_machine_cannot_be_listened_on() -> None:
    with pytest.raises(RunFailedError, match="does not have that address; give another --fleet-address"):
        check_free("192.0.2.77", 9092, "--fleet-address")


def test_a_port_that_a_former_server_is_about_to_leave_is_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as former:
        port = former.getsockname()[1]
        with pytest.raises(RunFailedError, match="another program listens there; give another --fleet-address"):
            check_free("127.0.0.1", port, "--fleet-address")
        leaving = threading.Timer(0.5, former.close)
        leaving.start()
        check_free("127.0.0.1", port, "--fleet-address", 30.0)
        leaving.join()


def test_the_bundle_holds_the_app_and_the_keys_of_a_run_and_is_the_same_for_every_run() -> None:
    defaults = Settings().to_run_config() | {"out": "", "publish": ""}

    content, digest = build_bundle(defaults)

    assert build_bundle(defaults)[1] == digest
    names = zipfile.ZipFile(io.BytesIO(content)).namelist()
    assert {"server/server_app.py", "client/client_app.py", "pfedgp_core/config.py"} <= set(names)
    assert {name.split("/")[0] for name in names if "/" in name} <= {"client", "server", "pfedgp_core", ".info"}
    project = tomllib.loads(zipfile.ZipFile(io.BytesIO(content)).read("pyproject.toml").decode())
    config = project["tool"]["flwr"]["app"]["config"]
    assert config["rounds"] == Settings().rounds and config["gp"]["sweeps"] == Settings().gp.sweeps
    assert project["tool"]["flwr"]["app"]["publisher"] == project["project"]["name"] == "pfedgp"


def test_a_resumed_run_is_given_no_other_setting() -> None:
    content, _ = build_bundle({"resume": ""})

    project = tomllib.loads(zipfile.ZipFile(io.BytesIO(content)).read("pyproject.toml").decode())
    assert project["tool"]["flwr"]["app"]["config"] == {"resume": ""}


def test_pieces_of_a_log_become_whole_lines_without_colours_and_tracebacks() -> None:
    lines: list[str] = []
    printed = Printed(lines.append)

    for piece in (
        "round 1/2  2 o",
        "k\nround 2/2\n\x1b[91mWARN\x1b[0m x\n",
        'Traceback (most recent call last):\n  File "a"\n',
    ):
        printed.add(piece)
    printed.add("    f()\npfedgp_core.errors.RunFailedError: no client left\nlast")
    printed.end()

    assert lines == ["round 1/2  2 ok", "round 2/2", "WARN x", "last"]
    assert printed.cause == "pfedgp_core.errors.RunFailedError: no client left"


def test_an_expired_certificate_is_named_with_its_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "_CLOCKS_DIFFER", timedelta(days=10))
    certificates.issue(tmp_path / "certs", ["localhost"], [], days=-1)

    with pytest.raises(ConfigError, match=r"server.crt .* not now: renew it with pfedgp certs --renew-server"):
        check_certificates(tmp_path / "certs")


def test_certificates_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        certificates.issue(tmp_path / name, ["localhost"], [])
    check_certificates(tmp_path / "a")

    (tmp_path / "a/server.key").write_bytes((tmp_path / "b/server.key").read_bytes())
    with pytest.raises(ConfigError, match=r"server.key and server.crt .* do not belong together"):
        check_certificates(tmp_path / "a")
    (tmp_path / "a/server.crt").write_bytes((tmp_path / "b/server.crt").read_bytes())
    with pytest.raises(ConfigError, match=r"not signed by ca.crt"):
        check_certificates(tmp_path / "a")
    (tmp_path / "a/server.key").unlink()
    with pytest.raises(ConfigError, match=r"server.key"):
        check_certificates(tmp_path / "a")


def test_public_keys_of_other_kinds_are_refused(tmp_path: Path) -> None:
    certificates.issue(tmp_path, ["localhost"], ["ward-3"])

    assert read_public_key(tmp_path / "clients/ward-3.pub").startswith(b"-----BEGIN PUBLIC KEY-----")
    (tmp_path / "x.pub").write_text(
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPJ+gYvFqwDUBd+W1jYKOvdSgbC+D0kuTI5dPb0jQ7Mh x\n"
    )
    for wrong in ("x.pub", "clients/ward-3"):
        with pytest.raises(ConfigError, match="make it with pfedgp certs"):
            read_public_key(tmp_path / wrong)


def test_what_the_database_has_from_before_a_restart_is_not_connected(tmp_path: Path) -> None:
    class Restarted:
        def __init__(self) -> None:
            self.heard = {"ward-1": time.time() - 30, "ward-2": time.time() + 30}

        def nodes(self) -> list[Node]:
            return [Node(1, name, True, "", b"", when) for name, when in self.heard.items()]

    control = Restarted()
    said: list[str] = []
    watch = SiteWatch(cast(Control, control), tmp_path, said.append)

    watch._tell()
    watch._tell()
    assert said == ["ward-1 was connected before the restart", "ward-2 connected"]

    control.heard["ward-1"] = time.time() + 1
    watch._tell()
    assert said[2:] == ["ward-1 connected"]


@pytest.mark.parametrize(
    ("online", "changed", "heard", "said"),
    [
        (True, "2026-11-28T07:40:00.5+00:00", 150.0, "connected, last connected 2026-11-28T07:40:00"),
        (True, "2026-11-28T07:40:00.5+00:00", 50.0, "not connected, last heard of 1970-01-01T00:00:50"),
        (False, "2026-11-28T07:46:22.5+00:00", 150.0, "not connected since 2026-11-28T07:46:22 at the latest"),
        (False, "", 0.0, "not connected"),
    ],
)
def test_a_site_is_not_said_to_be_seen_after_its_death(online: bool, changed: str, heard: float, said: str) -> None:
    assert _connection(_site(Node(1, "ward-1", online, changed, b"", heard), 100.0)) == said


def test_one_server_on_a_state_folder(tmp_path: Path) -> None:
    state = StateFolder(tmp_path / "state")
    state.prepare()
    assert state.running() is None

    with state.locked():
        assert state.running()
        with pytest.raises(RunFailedError, match=r"runs on .* already"), state.locked():
            pass

    assert state.running() is None


def test_the_secret_is_made_once_and_for_its_owner(tmp_path: Path) -> None:
    state = StateFolder(tmp_path / "state")
    state.prepare()
    state.make_secret()
    secret = state.secret.read_bytes()

    state.make_secret()

    assert state.secret.read_bytes() == secret and len(secret) == 32
    assert state.secret.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        (["server"], 2, "pfedgp certs"),
        (["server", "--certs", "nowhere"], 2, "Cannot read the certificate"),
        (["server", "--certs", "x", "--runtime", "a:1"], 2, "--only superexec"),
        (["server", "--only", "superexec"], 2, "--runtime HOST:PORT"),
        (["server", "--only", "superexec", "--runtime", "a:1"], 2, "--ca FILE"),
        (["server", "--certs", "x", "--fleet-address", "9092"], 2, "HOST:PORT"),
        (["server", "--certs", "x", "--control-address", "127.0.0.1:9092"], 2, "both on port 9092"),
        (["run", "--state", "nowhere"], 2, "No server has run on"),
        (["run", "--ca", "x"], 2, "--ca goes with --control"),
        (["run", "--control", "a", "--ca", "x"], 2, "HOST:PORT"),
        (["run", "--control", "127.0.0.1:1", "--ca", "nowhere"], 2, "Cannot read the certificate"),
        (["status", "--state", "nowhere"], 2, "No server has run on"),
        (["stop"], 2, "either RUN or --server"),
        (["stop", "x", "--server"], 2, "either RUN or --server"),
    ],
)
def test_mistakes_are_one_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
    code: int,
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(command) == code

    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_does_not_run_is_told_from_one_that_does_not_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    certificates.issue(tmp_path / "certs", ["localhost"], [])
    state = StateFolder(tmp_path / "state")
    state.prepare()
    record = {
        **{"control_address": "127.0.0.1:1", "control_listens": "0.0.0.0:1", "fleet_address": "0.0.0.0:2"},
        **{"ca": str(tmp_path / "certs/ca.crt"), "certs": str(tmp_path / "certs"), "database": False},
    }
    (state.path / "server.json").write_text(json.dumps(record))

    assert main(["status", "--state", str(state.path)]) == 1
    assert (
        f"does not run: start it with pfedgp server --state {state.path} --certs {tmp_path / 'certs'} "
        "--fleet-address 0.0.0.0:2 --control-address 0.0.0.0:1 --no-database\n"
    ) in capsys.readouterr().err

    with state.locked():
        assert main(["status", "--state", str(state.path)]) == 1
    assert "127.0.0.1:1 does not answer" in capsys.readouterr().err


def test_the_overview_of_a_server_elsewhere_needs_no_server_here(tmp_path: Path) -> None:
    target = Target("control:8000", tmp_path / "ca.crt", StateFolder(tmp_path), "", False)
    assert _server(target)["fleet_address"] is None
