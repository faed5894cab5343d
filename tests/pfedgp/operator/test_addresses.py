"""Addresses of the server: how they are read, and whether they are free."""

import socket
import threading

import pytest

from pfedgp.operator.addresses import check_free, is_loopback, overlap, parse_address, reachable_as
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
    assert overlap(("0.0.0.0", 1), ("127.0.0.1", 1))
    assert overlap(("localhost", 1), ("127.0.0.1", 1))
    assert not overlap(("0.0.0.0", 1), ("127.0.0.1", 2))
    assert not overlap(("192.0.2.1", 1), ("127.0.0.1", 1))


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
