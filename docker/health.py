"""Whether a container does its work: exit code 0, or 1 and the reason. Standard library only, for it runs often.

``superlink``
    Its two ports speak TLS with a certificate that is valid today.
``superexec``
    Its process runs, and the SuperLink speaks TLS.
``dashboard``
    Its page answers.
``client``
    It was accepted by the server and holds a connection to it.
"""

import json
import socket
import ssl
import sys
import urllib.request
from pathlib import Path

TIMEOUT = 5.0
CA = "/certs/ca.crt"
CONTROL = ("control", 8000)
_ESTABLISHED = "01"


def main(role: str) -> str:
    """Return what is wrong, or nothing."""
    if role == "client":
        return client(Path("/state/client.json"))
    if role == "dashboard":
        return answers("http://127.0.0.1:8788/health")
    if role == "superexec" and not runs("flower-superexec"):
        return "flower-superexec does not run"
    ports = [("localhost", 9092), CONTROL] if role == "superlink" else [CONTROL]
    return "; ".join(filter(None, (speaks_tls(host, port) for host, port in ports)))


def speaks_tls(host: str, port: int) -> str:
    """Return why there is no TLS connection with a valid certificate for `host`."""
    context = ssl.create_default_context(cafile=CA)
    try:
        with (
            socket.create_connection((host, port), TIMEOUT) as plain,
            context.wrap_socket(plain, server_hostname=host),
        ):
            return ""
    except OSError as error:
        return f"{host}:{port}: {error}"


def answers(url: str) -> str:
    """Return why a page of this container does not answer."""
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=TIMEOUT):
            return ""
    except OSError as error:
        return f"{url}: {error}"


def runs(program: str) -> bool:
    """Whether a process of this container is `program`."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().split(b"\0")
        except OSError:
            continue  # it ended meanwhile
        if any(
            word.rpartition(b"/")[2] == program.encode() for word in words[:5]
        ):  # behind an interpreter and its options
            return True
    return False


def client(status: Path) -> str:
    """Return why a site cannot be given work."""
    try:
        state = json.loads(status.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return f"no status yet ({error})"
    if not state["connected"]:
        return "the server has not accepted this site"
    port = int(state["superlink"].rpartition(":")[2])
    return "" if port in connected_ports() else f"no connection to {state['superlink']}"


def connected_ports() -> set[int]:
    """Return the remote ports of this container's TCP connections."""
    ports = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text(encoding="ascii").splitlines()[1:]:
            _, _, remote, state, *_ = line.split()
            if state == _ESTABLISHED:
                ports.add(int(remote.rpartition(":")[2], 16))
    return ports


if __name__ == "__main__":
    problem = main(sys.argv[1])
    print(problem or "healthy")
    sys.exit(bool(problem))
