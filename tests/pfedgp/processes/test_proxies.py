"""Connections within this machine go through no proxy, and the user's own exceptions stay."""

from pathlib import Path

import pytest

from pfedgp.processes.flower import flower_environment
from pfedgp.processes.proxies import direct

LOOPBACK = "localhost,127.0.0.1,::1"


def test_without_a_proxy_nothing_is_set() -> None:
    assert direct({"no_proxy": "example.org", "https_proxy": ""}) == {}


@pytest.mark.parametrize("name", ["https_proxy", "HTTP_PROXY", "grpc_proxy", "all_proxy", "ALL_PROXY"])
def test_loopback_is_reached_directly_whatever_the_proxy_is_called(name: str) -> None:
    assert direct({name: "http://192.0.2.1:3128"}) == {"no_proxy": LOOPBACK, "NO_PROXY": LOOPBACK}


def test_the_users_own_exceptions_stay() -> None:
    set_by_user = {"https_proxy": "x", "NO_PROXY": "example.org, localhost", "no_grpc_proxy": "fl.example.org"}
    assert direct(set_by_user) == {
        "no_proxy": "example.org,localhost,127.0.0.1,::1",
        "NO_PROXY": "example.org,localhost,127.0.0.1,::1",
        "no_grpc_proxy": f"fl.example.org,{LOOPBACK}",
    }


def test_the_name_in_lower_case_wins_as_it_does_in_the_libraries() -> None:
    assert direct({"https_proxy": "x", "no_proxy": "a", "NO_PROXY": "b"})["no_proxy"] == f"a,{LOOPBACK}"


def test_further_hosts_are_added() -> None:
    assert direct({"https_proxy": "x"}, "127.0.0.5", "")["no_proxy"] == f"{LOOPBACK},127.0.0.5"


def test_flowers_programs_get_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("https_proxy", "http://192.0.2.1:3128")
    assert flower_environment(tmp_path)["no_proxy"].endswith(LOOPBACK)
