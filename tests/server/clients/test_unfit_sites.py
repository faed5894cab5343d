"""One connected site that cannot take part does not hold back a run beyond a stated wait."""

import logging
from pathlib import Path

import pytest

from pfedgp_core.errors import RunFailedError
from server.clients import greetings, waiting
from server.clients.roster import Roster
from server.clients.waiting import UNFIT_PATIENCE, wait_for_clients
from server.flower import messages
from tests.fakegrid import Tamper
from tests.own_sites import OWN, OwnGrid, three_image_sites
from tests.waiting import FakeTime
from tests.wire_parts import greets_with

THREE = OWN.replace(min_clients=0, clients_per_round=3, wait_timeout=600.0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> FakeTime:
    caplog.set_level(logging.INFO, "pfedgp")
    clock = FakeTime()
    for module in (waiting, messages, greetings):
        monkeypatch.setattr(module, "time", clock)
    return clock


def silent(client: int) -> Tamper:
    return lambda request, index, reply: None if index == client else reply


def test_an_unreadable_site_is_waited_for_as_long_as_the_log_says(
    tmp_path: Path, clock: FakeTime, caplog: pytest.LogCaptureFixture
) -> None:
    roster, began = Roster(THREE), clock.now
    wait_for_clients(roster, OwnGrid(three_image_sites(tmp_path), greets_with(1, classes="nonsense")))
    assert UNFIT_PATIENCE <= clock.now - began <= UNFIT_PATIENCE + 1
    assert [client.name for client in roster.online()] == ["ward-a", "ward-c"]
    assert "it starts without those that cannot take part in 2 min; to wait for all, set min-clients" in caplog.text
    assert "starting with 2 of 3 sites, without: malformed hello" in caplog.text


def test_a_site_that_never_answers_is_waited_for_half_the_time(
    tmp_path: Path, clock: FakeTime, caplog: pytest.LogCaptureFixture
) -> None:
    roster, began = Roster(THREE), clock.now
    wait_for_clients(roster, OwnGrid(three_image_sites(tmp_path), silent(1)))
    assert 300 <= clock.now - began <= 301
    assert "starting with 2 of 3 sites, without: 1 site without an answer" in caplog.text


@pytest.mark.slow
def test_a_number_that_the_operator_has_set_is_kept(tmp_path: Path, clock: FakeTime) -> None:
    grid = OwnGrid(three_image_sites(tmp_path), greets_with(1, classes="nonsense"))
    with pytest.raises(RunFailedError, match="2 of 3 clients are ready"):
        wait_for_clients(Roster(THREE.replace(min_clients=3)), grid)


@pytest.mark.slow
def test_one_site_alone_is_no_federation_to_start(tmp_path: Path, clock: FakeTime) -> None:
    def two_broken(request: object, index: int, reply: object) -> object:
        return greets_with(index, classes="nonsense")(request, index, reply) if index else reply

    with pytest.raises(RunFailedError, match=r"1 of 2 clients are ready \(ward-a\), 2 cannot take part"):
        wait_for_clients(Roster(THREE), OwnGrid(three_image_sites(tmp_path), two_broken))
