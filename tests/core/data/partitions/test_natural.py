"""Natural sites as clients."""

import numpy as np
import pytest

from pfedgp_core.config import Settings
from pfedgp_core.data import datasets
from pfedgp_core.data.datasets import load_dataset
from pfedgp_core.data.moments import input_statistics
from pfedgp_core.data.partitions.base import Partition
from pfedgp_core.data.partitions.natural import natural
from pfedgp_core.data.partitions.sites import Sites
from pfedgp_core.data.simulated import left_out_sites, simulated_client, simulated_partition
from pfedgp_core.data.site_table import Column, site_table
from pfedgp_core.errors import ConfigError
from pfedgp_core.registry import DATASETS, DatasetEntry

NAMES = ("a", "b", "c")
LABELS = {"train": np.array([0, 0, 1, 1, 0]), "validation": np.array([2]), "test": np.array([0, 1, 1])}
SITES = Sites(
    NAMES, {"train": np.array([0, 1, 0, 1, 2]), "validation": np.array([0]), "test": np.array([0, 1, 1])}
)  # of four, four and one sample
TWO = Settings(partition="natural", clients=2, clients_per_round=2, natural_floor=4)


def test_each_site_holds_its_own_samples() -> None:
    made = natural(LABELS, 3, TWO, SITES)
    assert made.client_names == ("a", "b")
    assert {s: [rows.tolist() for rows in each] for s, each in made.indices.items()} == {
        "train": [[0, 2], [1, 3]],
        "validation": [[0], []],
        "test": [[0], [1, 2]],
    }


def test_classes_and_shares_are_those_of_the_samples() -> None:
    made = natural(LABELS, 3, TWO, SITES)
    assert made.classes == ((0, 1, 2), (0, 1))
    assert made.fractions == ((0.5, 0.5, 0.0), (0.5, 0.5))


def test_samples_of_other_sites_are_counted() -> None:
    assert natural(LABELS, 3, TWO, SITES).left_out == {"train": 1}


def test_the_file_gives_the_same_partition() -> None:
    made = natural(LABELS, 3, TWO, SITES)
    assert Partition.from_json(made.to_json()) == made


def test_more_clients_than_sites_are_refused() -> None:
    with pytest.raises(ConfigError, match="clients = 3 is more than the 2 of 3 sites that have at least natural-floor"):
        natural(LABELS, 3, TWO.replace(clients=3), SITES)


def test_fewer_clients_are_drawn_by_the_seed() -> None:
    one = TWO.replace(clients=1, clients_per_round=1, natural_floor=1)
    drawn = [natural(LABELS, 3, one.replace(seed=seed), SITES).client_names for seed in range(20)]
    assert set(drawn) == {("a",), ("b",), ("c",)}
    assert drawn == [natural(LABELS, 3, one.replace(seed=seed), SITES).client_names for seed in range(20)]


def wards(root: str, seed: int) -> datasets.Dataset:
    """40 samples of three wards and two of a fourth."""
    where = [i % 3 for i in range(40)] + [3, 3]
    table = {"where": where, "age": [float(i) for i in range(40)] + [1000.0, 1000.0]}
    return site_table("wards", table, ("where", "ward"), [Column("age")], [i % 2 for i in range(42)], ("no", "yes"))


@pytest.fixture
def ward_settings(monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setitem(DATASETS, "wards", DatasetEntry(f"{__name__}:wards", "", sites=True))
    monkeypatch.setattr(DatasetEntry, "load", lambda self: wards)
    return Settings(dataset="wards", partition="natural", clients=3, clients_per_round=3)


def test_a_site_that_is_left_out_is_named(ward_settings: Settings) -> None:
    assert left_out_sites(ward_settings) == ("ward-3",)
    assert simulated_partition(ward_settings).client_names == ("ward-0", "ward-1", "ward-2")


def test_a_site_that_is_left_out_has_no_part_in_the_normalisation(ward_settings: Settings) -> None:
    inputs = load_dataset("wards").train.inputs
    mean, std = input_statistics(inputs[inputs[:, 0] < 1000])
    client = simulated_client(ward_settings, 1)
    assert (client.mean, client.std) == (tuple(mean.tolist()), tuple(std.tolist()))


def test_sites_can_be_mixed_by_another_partition(ward_settings: Settings) -> None:
    made = simulated_partition(ward_settings.replace(partition="homogeneous"))
    assert sum(made.sizes()) == len(load_dataset("wards").train)
    assert left_out_sites(ward_settings.replace(partition="homogeneous")) == ()


def test_a_data_set_without_sites_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"dataset = 'digits' names none: choose one of femnist, .*contraception"):
        simulated_partition(Settings(partition="natural"))


def test_a_part_of_the_samples_is_refused(ward_settings: Settings) -> None:
    with pytest.raises(ConfigError, match="train-samples = 5 does not go with partition = 'natural'"):
        simulated_partition(ward_settings.replace(train_samples=5))
