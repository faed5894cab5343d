"""The federation that settings describe: which data sets go with which task, and how regression data are split."""

import numpy as np
import pytest

from pfedgp_core.config import Settings
from pfedgp_core.data.datasets import input_statistics, load_dataset
from pfedgp_core.data.partitions.k_class import fraction_bounds
from pfedgp_core.data.simulated import simulated_client, simulated_partition
from pfedgp_core.errors import ConfigError

DIABETES = Settings(task="regression", dataset="diabetes", clients=6)


@pytest.mark.parametrize(
    ("task", "dataset", "fits"),
    [("regression", "digits", "classification"), ("classification", "diabetes", "regression")],
)
def test_a_data_set_of_the_other_task_is_refused(task, dataset, fits):
    settings = Settings(task=task, dataset=dataset)
    for refused in (simulated_partition, lambda s: simulated_client(s, 0)):
        with pytest.raises(ConfigError, match=f"task = '{task}' does not go with dataset = '{dataset}'.*'{fits}'"):
            refused(settings)


def test_regression_data_are_shared_out_by_the_papers_fractions():
    partition = simulated_partition(DIABETES)
    low, high = fraction_bounds(6)
    shares = [each[0] for each in partition.fractions]
    assert sum(shares) == pytest.approx(1)
    assert low <= min(shares) < max(shares) <= high
    for split, n in (("train", 265), ("validation", 89), ("test", 88)):
        assert np.array_equal(np.sort(np.concatenate(partition.indices[split])), np.arange(n))
    assert partition == simulated_partition(DIABETES.replace(classes_per_client=7))  # has no meaning here
    assert partition != simulated_partition(DIABETES.replace(seed=1))
    client = simulated_client(DIABETES, 2)
    assert client.class_names == ()
    assert len(client.train) == len(partition.indices["train"][2])


def test_clients_that_stay_out_have_no_part_in_the_normalisation():
    every, some = Settings(), Settings(unseen_clients=6)
    whole, split = load_dataset("digits"), simulated_partition(some)
    assert split == simulated_partition(every)
    rows = np.concatenate(split.indices["train"][:14])
    mean, std = input_statistics(whole.train.inputs[rows])
    levels = whole.train.inputs[rows] / 255.0
    assert (mean[0], std[0]) == pytest.approx((levels.mean(), levels.std()), rel=1e-6)
    client = simulated_client(some, 3)
    assert (client.mean, client.std) == (tuple(mean.tolist()), tuple(std.tolist()))
    assert client.mean != simulated_client(every, 3).mean == tuple(whole.mean.tolist())
