"""Fixed totals: exact, stratified, and said to leave the rest out."""

import numpy as np
import pytest

from pfedgp_core.config import Settings
from pfedgp_core.data.datasets import input_statistics, load_dataset
from pfedgp_core.data.partitions.base import Partition
from pfedgp_core.data.partitions.stratified import stratified_sample
from pfedgp_core.data.simulated import simulated_client, simulated_partition
from pfedgp_core.errors import ConfigError
from pfedgp_core.numerics.streams import Stream

SOME = Settings(train_samples=500)


def test_all_clients_together_have_so_many() -> None:
    assert sum(simulated_partition(SOME).sizes()) == 500


def test_the_rest_is_said_to_be_left_out() -> None:
    assert simulated_partition(SOME).left_out == {"train": 578}


def test_no_sample_has_two_holders() -> None:
    assert len(np.unique(np.concatenate(simulated_partition(SOME).indices["train"]))) == 500


def test_other_splits_are_whole() -> None:
    part, whole = simulated_partition(SOME), simulated_partition(Settings())
    assert [part.sizes(split) for split in ("validation", "test")] == [whole.sizes("validation"), whole.sizes("test")]


def test_every_class_keeps_its_share() -> None:
    labels = load_dataset("digits").labels["train"]
    chosen = np.concatenate(simulated_partition(SOME).indices["train"])
    wanted = np.bincount(labels) * 500 / len(labels)
    assert np.abs(np.bincount(labels[chosen]) - wanted).max() < 1


def test_a_client_keeps_its_classes() -> None:
    assert simulated_partition(SOME).classes == simulated_partition(Settings()).classes


@pytest.mark.parametrize("n", [0, 1078])
def test_all_of_them_is_the_whole(n: int) -> None:
    assert simulated_partition(Settings(train_samples=n)) == simulated_partition(Settings())


def test_more_than_there_are_is_refused() -> None:
    with pytest.raises(ConfigError, match="train-samples = 2000 is more than the 1078 training samples of 'digits'"):
        simulated_partition(Settings(train_samples=2000))


def test_the_file_says_what_is_left_out() -> None:
    partition = simulated_partition(SOME)
    assert Partition.from_json(partition.to_json()).left_out == {"train": 578}


@pytest.mark.parametrize("n", [0, 1, 7, 99, 100])
def test_a_sample_has_exactly_its_size(n: int) -> None:
    labels = np.arange(100) % 3
    assert len(stratified_sample(labels, n, Stream(0))) == n


def test_what_is_left_out_has_no_part_in_the_normalisation() -> None:
    chosen = np.concatenate(simulated_partition(SOME).indices["train"])
    mean, std = input_statistics(load_dataset("digits").train.inputs[chosen])
    client = simulated_client(SOME, 3)
    assert (client.mean, client.std) == (tuple(mean.tolist()), tuple(std.tolist()))
