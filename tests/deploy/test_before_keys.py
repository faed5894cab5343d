"""Strangers at the Fleet port of a real server: their memory, their connections, and who still gets in."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import grpc
import pytest

from pfedgp.operator.inside_superlink.fleet_guard import HANDSHAKE
from tests.deploy.deployment import Deployment
from tests.deploy.digit_images import write_digits
from tests.deploy.phantom import activate
from tests.deploy.strangers import MIB, Memory, huge_calls, idle_connections, signed
from tests.waiting import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

CONNECTIONS = 40
HUGE = 150 * MIB
MOST = 64.0  # MiB that three calls of strangers may cost; stock Flower takes over 450


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with Deployment(tmp_path_factory.mktemp("keys"), ["ward-1"]) as deployment:
        deployment.start_server("--max-connections", str(CONNECTIONS))
        yield deployment


@pytest.mark.parametrize("own_key", [False, True], ids=["unsigned", "signed with a key of their own"])
def test_huge_calls_of_strangers_cost_no_memory(served: Deployment, own_key: bool) -> None:
    memory = Memory(served.processes()["superlink"])
    answers = huge_calls(served.superlink, served.ca, HUGE, 3, signed() if own_key else ())
    assert answers == ["UNAUTHENTICATED"] * 3
    assert memory.risen() < MOST


def test_a_key_that_is_nobodys_makes_no_site_look_connected(served: Deployment) -> None:
    with pytest.raises(grpc.RpcError, match="2004"):
        activate(served.superlink, served.ca, served.key("ward-1.pub"), heartbeat=1800.0)
    assert not served.status()["sites"][0]["online"]


def test_connections_are_bounded_and_a_site_gets_in_once_there_is_room(served: Deployment, tmp_path: Path) -> None:
    memory = Memory(served.processes()["superlink"])
    with idle_connections("127.0.0.1", served.fleet_port, 3 * CONNECTIONS, served.ca) as found:
        assert len(found) <= CONNECTIONS
    assert memory.risen() < MOST
    site = served.start_site("ward-1", "--data", str(write_digits(tmp_path / "data", (0, 1), 10)))
    served.connected("ward-1")
    assert site.stop() == 0


def test_a_connection_that_says_nothing_is_closed(served: Deployment) -> None:
    with socket.create_connection(("127.0.0.1", served.fleet_port), timeout=3 * HANDSHAKE) as silent:
        assert silent.recv(1) == b""


def test_sites_that_are_connected_stay_so_while_strangers_fill_the_port(served: Deployment, tmp_path: Path) -> None:
    site = served.start_site("ward-1", "--data", str(write_digits(tmp_path / "data", (0, 1), 10)))
    served.connected("ward-1", times=2)
    with ExitStack() as stack:
        for _ in range(3 * CONNECTIONS):
            with suppress(OSError):
                stack.enter_context(socket.create_connection(("127.0.0.1", served.fleet_port), timeout=5.0))
        run = served.start_run("crowded", "--rounds", "2", "--clients-per-round", "1", "--set", "personalise=false")
        assert run.ends(120.0) == 0, run.text
    assert site.stop() == 0
    wait_for(lambda: not served.status()["sites"][0]["online"], 30.0, "the site has left")
