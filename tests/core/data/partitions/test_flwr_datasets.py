"""Partitions by flwr-datasets: a stand-in for the package where it is not installed, and the package where it is."""

import importlib.util
import sys
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest

from pfedgp_core.config import Settings
from pfedgp_core.data.partitions.base import Partition
from pfedgp_core.data.partitions.flwr_datasets import by_flwr_datasets
from pfedgp_core.data.partitions.part_of_data import partition_data
from pfedgp_core.errors import ConfigError, DataError

CLASSES = 3
FOUR = Settings(partition="flwr-datasets", clients=4, clients_per_round=1, seed=5)
TRAIN, TEST = np.arange(60) % CLASSES, np.arange(30) % CLASSES
INSTALLED = importlib.util.find_spec("flwr_datasets") is not None


class Dataset:
    """Columns, as of the package datasets."""

    def __init__(self, columns: dict[str, list[int]]) -> None:
        self.columns = columns

    @classmethod
    def from_dict(cls, columns: dict[str, list[int]]) -> "Dataset":
        return cls(columns)

    def __getitem__(self, name: str) -> list[int]:
        return self.columns[name]


class BlockPartitioner:
    """Gives out blocks of the samples; `skip` leaves out the last ones, `overlap` adds samples of others."""

    made: ClassVar[list[dict[str, Any]]] = []
    dataset: Dataset

    def __init__(
        self, num_partitions: int, seed: int = 0, skip: int = 0, overlap: int = 0, empty: bool = False, name: str = ""
    ) -> None:
        if skip < 0:
            raise ValueError("skip is negative")
        self.made.append({"num_partitions": num_partitions, "seed": seed, "name": name})
        self.parts, self.skip, self.overlap, self.empty = num_partitions, skip, overlap, empty

    def load_partition(self, i: int) -> Dataset:
        rows = self.dataset["row"]
        each = (len(rows) - self.skip) // self.parts
        chosen = [] if self.empty and i == 2 else rows[i * each : (i + 1) * each + self.overlap]
        return Dataset({"row": chosen[::-1]})


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> None:
    top, partitioner, tables = (
        ModuleType("flwr_datasets"),
        ModuleType("flwr_datasets.partitioner"),
        ModuleType("datasets"),
    )
    partitioner.BlockPartitioner, tables.Dataset = BlockPartitioner, Dataset
    for module in (top, partitioner, tables):
        monkeypatch.setitem(sys.modules, module.__name__, module)


def made(spec: str = "BlockPartitioner", **changes: Any) -> Partition:
    settings = FOUR.replace(flwr_partitioner=spec, **changes)
    return partition_data(by_flwr_datasets, {"train": TRAIN, "test": TEST}, CLASSES, settings)


@pytest.mark.usefixtures("package")
def test_training_samples_are_the_partitioner_s() -> None:
    assert [rows.tolist() for rows in made().indices["train"]] == [list(range(15 * i, 15 * i + 15)) for i in range(4)]


@pytest.mark.usefixtures("package")
def test_every_test_sample_has_one_holder() -> None:
    assert np.array_equal(np.sort(np.concatenate(made().indices["test"])), np.arange(30))


@pytest.mark.usefixtures("package")
def test_what_nobody_gets_is_said_to_be_left_out() -> None:
    assert (made().left_out, made("BlockPartitioner skip=20").left_out) == ({}, {"train": 20})


@pytest.mark.usefixtures("package")
def test_clients_and_seed_are_the_run_s_and_arguments_are_read() -> None:
    made("BlockPartitioner name=x")
    assert BlockPartitioner.made[-1] == {"num_partitions": 4, "seed": 5, "name": "x"}


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("spec", "kind", "sentence"),
    [
        ("RoundPartitioner", ConfigError, "'RoundPartitioner' is not known; choose one of: BlockPartitioner"),
        ("BlockPartitioner skip", ConfigError, "correct 'skip'"),
        ("BlockPartitioner skip=-1", ConfigError, r"\(ValueError: skip is negative\): change its arguments"),
        ("BlockPartitioner depth=1", ConfigError, "TypeError"),
        ("", ConfigError, "is not known"),
        ("BlockPartitioner overlap=1", DataError, "gives samples to two clients"),
        ("BlockPartitioner empty=true", DataError, "gives the clients 2 no sample"),
    ],
)
def test_mistakes_are_one_sentence(spec: str, kind: type[Exception], sentence: str) -> None:
    with pytest.raises(kind, match=sentence):
        made(spec)


def test_without_the_package_its_name_is_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("flwr_datasets", "flwr_datasets.partitioner"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigError, match=r"run pip install 'pfedgp\[flwr-datasets\]'"):
        made("IidPartitioner")


@pytest.mark.skipif(not INSTALLED, reason="needs the extra flwr-datasets")
@pytest.mark.parametrize(
    "spec",
    [
        "IidPartitioner",
        "DirichletPartitioner alpha=1.0 min_partition_size=3",
        "PathologicalPartitioner num_classes_per_partition=2",
        "LinearPartitioner",
    ],
)
def test_with_the_package(spec: str) -> None:
    partition = made(spec)
    assert len(np.unique(np.concatenate(partition.indices["train"]))) == sum(partition.sizes())
    assert sum(partition.sizes()) + partition.left_out.get("train", 0) == 60
    assert made(spec) == partition
