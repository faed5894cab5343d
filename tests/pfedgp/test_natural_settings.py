"""A data set from natural sites needs no word about its clients."""

import pytest

from pfedgp.collecting import collect_settings
from pfedgp.natural_settings import natural_settings
from pfedgp_core.data.datasets import Dataset
from pfedgp_core.data.site_table import Column, site_table
from pfedgp_core.errors import ConfigError
from pfedgp_core.registry import DATASETS, DatasetEntry


def wards(root: str, seed: int) -> Dataset:
    """Four wards of 10 samples and one of two."""
    where = [i % 4 for i in range(40)] + [4, 4]
    table = {"where": where, "age": [float(i) for i in range(42)]}
    return site_table("wards", table, ("where", "ward"), [Column("age")], [i % 2 for i in range(42)], ("no", "yes"))


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DATASETS, "wards", DatasetEntry("wards", "", sites=True))
    monkeypatch.setattr(DatasetEntry, "load", lambda self: wards)


def test_its_sites_are_the_clients() -> None:
    settings = collect_settings({}, {"dataset": "wards"}, [])
    assert (settings.partition, settings.clients, settings.clients_per_round) == ("natural", 4, 4)


def test_what_the_user_says_comes_first() -> None:
    settings = collect_settings({}, {"dataset": "wards", "clients": "2"}, ["clients-per-round=1"])
    assert (settings.partition, settings.clients, settings.clients_per_round) == ("natural", 2, 1)


def test_another_partition_is_as_for_any_data_set() -> None:
    assert natural_settings({"dataset": "wards", "partition": "homogeneous"}) == {}


@pytest.mark.parametrize("chosen", [{}, {"dataset": "digits"}, {"dataset": "unknown"}])
def test_a_data_set_without_sites_says_nothing(chosen: dict[str, str]) -> None:
    assert natural_settings(chosen) == {}


def test_clients_that_stay_out_are_not_drawn_from() -> None:
    settings = collect_settings({}, {"dataset": "wards"}, ["unseen-clients=1"])
    assert (settings.clients, settings.clients_per_round) == (4, 3)


def test_a_floor_that_leaves_nobody_is_refused() -> None:
    with pytest.raises(ConfigError, match="natural-floor = 50 leaves no site of dataset = 'wards'"):
        collect_settings({}, {"dataset": "wards"}, ["natural-floor=50"])
