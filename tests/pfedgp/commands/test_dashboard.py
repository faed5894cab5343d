"""``pfedgp dashboard`` as a process: it answers, ends on SIGTERM, and is private unless it is told otherwise."""

import json
import signal
import socket
import ssl
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pfedgp.cli import main
from pfedgp.operator.authority import issue
from pfedgp.processes.flower import free_ports

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pathspec.*")


@contextmanager
def shown(folder: Path, *options: str) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    (port,) = free_ports(1)
    argv = [sys.executable, "-m", "pfedgp", "dashboard", "--state", str(folder), "--port", str(port), *options]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert "metrics are at" in line, process.communicate()[1]
            yield process, port
        finally:
            process.kill()


def state(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    return folder


def ask(url: str, token: str, context: ssl.SSLContext | None = None) -> str:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    tls = urllib.request.HTTPSHandler(context=context or ssl.create_default_context())
    with urllib.request.build_opener(urllib.request.ProxyHandler({}), tls).open(request, timeout=60) as answer:
        return str(answer.read().decode())


def raw(port: int, line: str) -> str:
    """The first line of the answer to a request as it is written here; clients tidy up paths."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(f"{line}\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        return connection.makefile("r", encoding="latin-1").readline().strip()


@pytest.mark.slow
def test_it_answers_until_it_is_told_to_end(tmp_path: Path) -> None:
    folder = state(tmp_path)
    with shown(folder) as (process, port):
        file = folder / "dashboard.token"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        token = file.read_text().strip()
        found = json.loads(ask(f"http://127.0.0.1:{port}/state.json", token))
        assert found["headline"]["text"] == f"No server has run on {folder} yet."
        assert "pfedgp_server_up 0.0" in ask(f"http://localhost:{port}/metrics", token)
        with pytest.raises(urllib.error.HTTPError, match="401"):
            ask(f"http://127.0.0.1:{port}/state.json", "another-token-than-its-own")
        assert raw(port, "GET /../dashboard.token HTTP/1.1") == "HTTP/1.1 404 Not Found"
        assert raw(port, "GET /%2e%2e/dashboard.token HTTP/1.1") == "HTTP/1.1 404 Not Found"
        assert raw(port, "POST /state.json HTTP/1.1") == "HTTP/1.1 405 Method Not Allowed"
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "Stopped.\n", "")


@pytest.mark.slow
def test_https_under_the_names_of_the_certificate(tmp_path: Path) -> None:
    issue(tmp_path / "certs", ["fl.example.org"], [])
    options = ("--certificate", str(tmp_path / "certs/server.crt"), "--key", str(tmp_path / "certs/server.key"))
    with shown(state(tmp_path), "--host", "0.0.0.0", *options) as (_, port):
        token = (tmp_path / "state/dashboard.token").read_text().strip()
        context = ssl.create_default_context(cafile=str(tmp_path / "certs/ca.crt"))
        assert json.loads(ask(f"https://localhost:{port}/state.json", token, context))["format"] == "pfedgp-dashboard"


def test_one_snapshot_is_printed_and_makes_no_token(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = state(tmp_path)
    assert main(["dashboard", "--state", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["format"], found["schema_version"]) == ("pfedgp-dashboard", 1)
    assert list(folder.iterdir()) == []


def test_there_is_no_page_of_a_site_or_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dashboard", "--state", str(tmp_path / "none")]) == 2
    assert "There is no folder" in capsys.readouterr().err
    (tmp_path / "client.json").write_text("{}")
    assert main(["dashboard", "--state", str(tmp_path)]) == 2
    assert "is the state folder of a site" in capsys.readouterr().err


def test_a_token_that_others_can_read_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    token = state(tmp_path) / "dashboard.token"
    token.write_text("x" * 32)
    token.chmod(0o644)
    assert main(["dashboard", "--state", str(tmp_path / "state")]) == 2
    assert "Other users of this machine may read the token" in capsys.readouterr().err
