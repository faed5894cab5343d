"""The documented front before the Fleet port, docker/front/nginx.conf, in a real nginx."""

import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from pfedgp.processes.flower import free_ports
from tests.waiting import wait_for

CONF = Path(__file__).resolve().parents[2] / "docker" / "front" / "nginx.conf"
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
MOST = 20  # as the file says

pytestmark = pytest.mark.skipif(not NGINX, reason="no nginx")


@pytest.fixture
def front(tmp_path: Path) -> Iterator[int]:
    """The front before a server that greets every connection; the front's port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            with ExitStack() as stack, suppress(OSError):
                while True:
                    connection = stack.enter_context(server.accept()[0])
                    connection.sendall(b"hello")

        threading.Thread(target=greet, daemon=True).start()
        port = free_ports(1)[0]
        text = CONF.read_text(encoding="utf-8")
        for former, new in (
            ("listen 9092", f"listen 127.0.0.1:{port}"),
            ("superlink:9092;", f"127.0.0.1:{server.getsockname()[1]};"),
            ("/tmp/nginx-front.pid", str(tmp_path / "pid")),
        ):
            assert text.count(former) == 1, former
            text = text.replace(former, new)
        (tmp_path / "nginx.conf").write_text(text)
        command = [str(NGINX), "-c", str(tmp_path / "nginx.conf"), "-e", "stderr", "-g", "daemon off;"]
        process = subprocess.Popen(command, stderr=(tmp_path / "errors").open("wb"))
        try:
            wait_for(lambda: greeted(port, "127.0.0.3"), 20.0, "the front answers")
            yield port
        finally:
            process.terminate()
            process.wait(20.0)
            server.shutdown(socket.SHUT_RDWR)


def connect(port: int, source: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=10.0, source_address=(source, 0))


def greeted(port: int, source: str) -> bool:
    """Whether a connection from an address gets through."""
    with suppress(OSError), connect(port, source) as connection:
        return connection.recv(5) == b"hello"
    return False


def test_an_address_has_few_connections_and_another_gets_in(front: int) -> None:
    with ExitStack() as stack:
        held = 0
        for _ in range(2 * MOST):
            connection = stack.enter_context(connect(front, "127.0.0.1"))
            with suppress(OSError):
                held += connection.recv(5) == b"hello"
        assert held == MOST
        assert greeted(front, "127.0.0.2")
    wait_for(lambda: greeted(front, "127.0.0.1"), 10.0, "room again")
