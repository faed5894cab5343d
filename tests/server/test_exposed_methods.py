"""A method that one site can harm much: the server of sites' own data says so before round 1, and what holds more."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from tests.federation_run import SMALL, federate, start
from tests.own_sites import OwnGrid, archive, rows_of
from tests.uninterrupted import without_pictures

WORDS = "one of five sites that attacks in every round can cost much accuracy under aggregation = "
SETTINGS = SMALL.replace(clients_per_round=2, rounds=1, round_timeout=60.0, personalise=False, local_steps=2)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Short runs leave out what takes most of their time."""
    without_pictures(monkeypatch)
    caplog.set_level(logging.WARNING, "pfedgp")


@pytest.fixture
def sites(tmp_path: Path) -> OwnGrid:
    grid = OwnGrid({})
    for i in range(3):
        grid.add_site(f"ward-{i}", archive(tmp_path / f"{i}.npz", rows_of(0, 1, of=6)), site=str(tmp_path / f"s{i}"))
    return grid


def test_a_shared_head_is_warned_of(sites: OwnGrid, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    start(sites, SETTINGS.replace(method="fedavg"), tmp_path / "run")
    assert f"method = fedavg: {WORDS}" in caplog.text


@pytest.mark.parametrize(
    ("aggregation", "share", "warned"), [("uniform", 0.4, True), ("nearest", 0.0, True), ("nearest", 0.4, False)]
)
def test_so_is_one_that_is_the_prior_mean_unless_the_average_holds(
    sites: OwnGrid, tmp_path: Path, caplog: pytest.LogCaptureFixture, aggregation: str, share: float, warned: bool
) -> None:
    gp = replace(SETTINGS.gp, prior_mean="head")
    settings = SETTINGS.replace(
        objective="softmax", gp=gp, aggregation=aggregation, trim_share=share, clients_per_round=3
    )
    start(sites, settings, tmp_path / "run")
    assert (f"a shared head (gp.prior-mean): {WORDS}" in caplog.text) is warned


def test_pfedgp_is_not(sites: OwnGrid, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    start(sites, SETTINGS, tmp_path / "run")
    assert WORDS not in caplog.text


def test_nor_is_a_simulation(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    federate(SETTINGS.replace(method="fedavg"), tmp_path / "run")
    assert WORDS not in caplog.text
