"""Before a key is checked: strangers at the Fleet port, and what other users of a machine may read."""

import os
import socket
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness import case, main

from pfedgp.cli import main as pfedgp
from pfedgp.operator.inside_superlink.fleet_guard import HANDSHAKE
from tests.deploy.deployment import Deployment
from tests.deploy.phantom import activate
from tests.deploy.strangers import MIB, Memory, huge_calls, idle_connections, signed

MOST = 64.0  # MiB
CONNECTIONS = 200


@contextmanager
def served(folder: Path, *options: str) -> Iterator[Deployment]:
    """A server that knows one site."""
    with Deployment(folder, ["ward-1"]) as deployment:
        deployment.start_server(*options)
        yield deployment


def open_to_others(folder: Path) -> list[str]:
    """What others may read of a folder, itself among it."""
    found = [path for path in (folder, *folder.rglob("*")) if not path.is_symlink()]
    return [str(path) for path in found if stat.S_IMODE(path.stat().st_mode) & 0o077]


@case("three calls of 400 MB without a registered key cost the server no memory", 120)
def _huge(folder: Path) -> str:
    with served(folder) as deployment:
        memory = Memory(deployment.processes()["superlink"])
        for metadata in ((), signed()):
            answers = huge_calls(deployment.superlink, deployment.ca, 400 * MIB, 3, metadata)
            assert answers == ["UNAUTHENTICATED"] * 3, answers
        assert memory.risen() < MOST, memory.risen()
        return f"{memory.risen():.0f} MiB"


@case("a thousand idle connections are held to the limit of the port, and cost little", 120)
def _idle(folder: Path) -> str:
    with served(folder, "--max-connections", str(CONNECTIONS)) as deployment:
        memory = Memory(deployment.processes()["superlink"])
        with idle_connections("127.0.0.1", deployment.fleet_port, 1000, deployment.ca) as found:
            assert len(found) <= CONNECTIONS, len(found)
            held = len(found)
        assert memory.risen() < MOST, memory.risen()
        return f"{held} of 1000 held, {memory.risen():.0f} MiB"


@case("a connection that never speaks TLS is closed within seconds", 90)
def _silent(folder: Path) -> str:
    with served(folder) as deployment:
        began = time.monotonic()
        with socket.create_connection(("127.0.0.1", deployment.fleet_port), timeout=2 * HANDSHAKE) as silent:
            assert silent.recv(1) == b""
        return f"{time.monotonic() - began:.0f} s"


@case("a public key, signed for by another key, makes no site look connected", 60)
def _phantom(folder: Path) -> None:
    import grpc

    with served(folder) as deployment:
        try:
            activate(deployment.superlink, deployment.ca, deployment.key("ward-1.pub"), 1800.0)
        except grpc.RpcError as error:
            told = str(error.details())
        else:
            raise AssertionError("the node was activated")
        assert "2004" in told, told


@case("a state folder of mode 0755, with a database of mode 0644, is its owner's alone after the start", 60)
def _state(folder: Path) -> None:
    os.umask(0o022)
    with served(folder) as deployment:
        assert deployment.server is not None
        deployment.server.stop()
        deployment.state.chmod(0o755)
        for path in deployment.state.glob("superlink.db*"):
            path.chmod(0o644)
        deployment.start_server().says("registered", 90.0, times=2)
        found = [name for name in open_to_others(deployment.state) if not name.startswith(str(deployment.runs))]
        assert not found, found


@case("onboard and export-client write features and labels for their owner alone, in a folder of mode 0755 too", 90)
def _onboard(folder: Path) -> None:
    os.umask(0o022)
    from tests.published_model import save_digits_model

    data, site = folder / "data", folder / "site"
    for out in (data, site):
        out.mkdir(mode=0o755)
    assert pfedgp(["export-client", "--client", "client-03", "--out", str(data)]) == 0
    model = save_digits_model(folder / "run")
    assert pfedgp(["onboard", "--model", str(model), "--data", str(data / "train.npz"), "--out", str(site)]) == 0
    assert not (found := open_to_others(data) + open_to_others(site)), found


@case("a folder for all, or with other things in it, is refused with the command that tightens it", 30)
def _refused(folder: Path) -> None:
    shared = folder / "shared"
    shared.mkdir()
    (shared / "notes.txt").touch()
    shared.chmod(0o755)
    assert pfedgp(["certs", "--san", "localhost", "--out", str(shared)]) == 2
    assert [path.name for path in shared.iterdir()] == ["notes.txt"]


if __name__ == "__main__":
    sys.exit(main())
