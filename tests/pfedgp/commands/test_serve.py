"""``pfedgp serve`` as a process: it answers, ends on SIGTERM, and is private unless it is told otherwise."""

import json
import signal
import socket
import ssl
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
from tests.table_site import rows, table_site
from tests.waiting import wait_for

pytestmark = pytest.mark.slow


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@contextmanager
def served(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    port = free_port()
    argv = [sys.executable, "-m", "pfedgp", "serve", "--site", str(folder / "site"), "--port", str(port), *options]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert "answers at" in line, process.communicate()[1]
            yield process, port
        finally:
            process.kill()


def ask(url: str, token: str, context: ssl.SSLContext | None = None) -> dict[str, object]:
    body = json.dumps({"inputs": rows(3).tolist()}).encode()
    request = urllib.request.Request(f"{url}/predict", body, {"Authorization": f"Bearer {token}"})
    request.add_header("Content-Type", "application/json")
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context or ssl.create_default_context())
    )
    with opener.open(request, timeout=60) as answer:
        found: dict[str, object] = json.load(answer)
        return found


def test_a_site_answers_until_it_is_told_to_end(tmp_path: Path) -> None:
    table_site().save(tmp_path / "site")
    with served(tmp_path) as (process, port):
        token = (tmp_path / "site.token").read_text().strip()
        answer = ask(f"http://127.0.0.1:{port}", token)
        assert len(answer["predictions"]) == 3  # type: ignore[arg-type]
        with pytest.raises(urllib.error.HTTPError, match="401"):
            ask(f"http://127.0.0.1:{port}", "another-token-than-its-own")
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "Stopped.\n", "")


def test_a_request_under_way_is_answered_before_the_end(tmp_path: Path) -> None:
    table_site().save(tmp_path / "site")
    with served(tmp_path) as (process, port), socket.create_connection(("127.0.0.1", port)) as connection:
        token = (tmp_path / "site.token").read_text().strip()
        body = json.dumps({"inputs": rows(3).tolist()}).encode()
        head = f"POST /predict HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        head += f"Content-Length: {len(body)}\r\n"
        connection.sendall(f"{head}Expect: 100-continue\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 100")  # the site waits for the body
        process.send_signal(signal.SIGTERM)
        wait_for(lambda: not listens(port), 60, "it takes no more connections")
        connection.sendall(body)
        assert connection.recv(15) == b"HTTP/1.1 200 OK"
        process.wait(60)
    assert process.returncode == 0


def listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def test_https_with_the_operators_certificate(tmp_path: Path) -> None:
    table_site().save(tmp_path / "site")
    issue(tmp_path / "certs", ["localhost"], [])
    options = ("--certificate", str(tmp_path / "certs/server.crt"), "--key", str(tmp_path / "certs/server.key"))
    with served(tmp_path, "--host", "0.0.0.0", *options) as (_, port):
        token = (tmp_path / "site.token").read_text().strip()
        context = ssl.create_default_context(cafile=str(tmp_path / "certs/ca.crt"))
        assert ask(f"https://localhost:{port}", token, context)["site"] == "ward-3"


def test_without_a_site_there_is_nothing_to_serve(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--site", str(tmp_path / "none")]) == 2
    assert "There is no site at" in capsys.readouterr().err
    assert not (tmp_path / "none.token").exists()
