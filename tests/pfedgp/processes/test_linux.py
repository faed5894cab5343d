"""What Linux says of sockets, processes and its clock."""

import os
import socket

import pytest

from pfedgp.processes import linux


def test_listening_sockets_are_found_by_port_and_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as narrow:
        port = narrow.getsockname()[1]
        assert linux.listening_on(port) == ["127.0.0.1"]
    with socket.create_server(("0.0.0.0", 0)) as wide:
        assert linux.listening_on(wide.getsockname()[1]) == ["0.0.0.0"]
    assert linux.listening_on(port) == []


@pytest.mark.skipif(not socket.has_ipv6, reason="needs IPv6")
def test_listening_on_ipv6() -> None:
    try:
        server = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("needs IPv6")
    with server:
        assert linux.listening_on(server.getsockname()[1]) == ["::1"]


def test_processes_are_known_by_name() -> None:
    assert linux.is_alive(os.getpid(), "py")
    assert not linux.is_alive(os.getpid(), "flower-superlink")
    assert not linux.is_alive(2**22 + 1, "py")


def test_the_clock_of_this_machine_can_be_asked() -> None:
    assert linux.clock_is_synchronised() in (True, False, None)


def test_a_process_listens_on_its_own_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert linux.listens(os.getpid(), server.getsockname()[1])


def test_another_process_does_not_listen_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert not linux.listens(os.getppid(), server.getsockname()[1])


def test_a_process_that_is_gone_may_have_listened() -> None:
    assert linux.listens(2**22 + 1, 9092)
