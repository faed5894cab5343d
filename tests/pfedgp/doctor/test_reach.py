"""A server that cannot be reached, and addresses that are none."""

import socket
import threading
from pathlib import Path

import pytest

from pfedgp.doctor import reach
from tests.deploy.mis_setups import Authority, listening, only, silent


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


@pytest.mark.slow
def test_a_peer_that_never_answers_is_found_in_time(authority: Authority) -> None:
    with listening(silent) as address:
        assert only(address, authority.path, None, timeout=2.0).code == "unanswered"
        assert only(address, None, None, timeout=2.0).code == "unanswered"


@pytest.mark.slow
def test_a_full_backlog_is_a_connection_that_a_firewall_drops(authority: Authority) -> None:
    # The kernel drops what does not fit the queue of a listening socket, as a firewall does.
    with socket.create_server(("127.0.0.1", 0), backlog=0) as deaf, socket.socket() as first, socket.socket() as second:
        for filler in (first, second):
            filler.setblocking(False)
            filler.connect_ex(deaf.getsockname())
        problem = only(f"127.0.0.1:{deaf.getsockname()[1]}", authority.path, None, timeout=2.0)
    assert problem.code == "unanswered"
    assert "firewall" in problem.sentence
    assert not problem.lasting


def test_names_that_do_not_resolve(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    assert only("no-such-host.invalid:9092", authority.path, None).code == "name"

    over = threading.Event()
    monkeypatch.setattr(reach.socket, "getaddrinfo", lambda *_, **__: over.wait() and [])
    monkeypatch.setattr(reach, "STEP_SECONDS", 0.3)
    hanging = only("slow.example.org:9092", authority.path, None)
    over.set()
    assert hanging.code == "name"
    assert "name server" in hanging.sentence


@pytest.mark.parametrize("text", ["https://fl.example.org:9092", "fl.example.org", "fl.example.org:0", "a:b:9092", ""])
def test_addresses_that_are_none(authority: Authority, text: str) -> None:
    assert only(text, authority.path, None).code == "address"


def test_addresses() -> None:
    assert reach.parse_address("[::1]:9092") == ("::1", 9092)
    assert str(reach.parse_address("[fe80::1]:9092")) == "[fe80::1]:9092"
