"""Data sets by name, and one client's share of them."""

import numpy as np
import pytest
import torch

from pfedgp_core.data.datasets import (
    Dataset,
    Split,
    client_data,
    load_dataset,
)
from pfedgp_core.data.partitions.k_class import k_class_partition
from pfedgp_core.errors import ConfigError, DataError


def test_unknown_dataset():
    with pytest.raises(ConfigError, match=r"'minst' is not known; choose one of: digits, .*did you mean 'mnist'\?"):
        load_dataset("minst")


def test_client_data():
    data = load_dataset("digits")
    partition = k_class_partition(data.labels, 10, 20, 2, seed=0)
    clients = [client_data(data, partition, i) for i in range(20)]
    assert sum(len(c.train) for c in clients) == 1078
    client = clients[7]
    assert client.name == "client-07"
    assert client.class_names == data.class_names
    assert client.train.inputs.dtype == torch.float32
    assert client.train.labels.dtype == torch.int64
    assert set(client.train.labels.tolist()) == set(partition.classes[7])
    rows = partition.indices["train"][7]
    wanted = (data.train.inputs[rows] / 255.0 - data.mean[0]) / data.std[0]
    np.testing.assert_allclose(client.train.inputs.numpy(), wanted, atol=1e-5)
    everything = torch.cat([c.train.inputs for c in clients])
    assert abs(everything.mean()) < 1e-4
    assert abs(everything.std() - 1) < 1e-3


def test_client_with_empty_test_split():
    data = load_dataset("digits")
    few = Dataset(
        data.name, data.class_names, data.train, data.validation, Split(data.test.inputs[:0], data.test.labels[:0]),
        data.mean, data.std, data.input_shape,
    )  # fmt: skip
    client = client_data(few, k_class_partition(few.labels, 10, 20, 2, seed=0), 0)
    assert client.test.inputs.shape == (0, 1, 8, 8)
    assert len(client.test) == 0


@pytest.mark.parametrize("index", [-1, 20])
def test_unknown_client(index):
    data = load_dataset("digits")
    with pytest.raises(ConfigError, match=f"client {index}"):
        client_data(data, k_class_partition(data.labels, 10, 20, 2, seed=0), index)


def test_partition_of_other_data():
    data = load_dataset("digits")
    larger = {name: np.tile(each, 3) for name, each in data.labels.items()}
    with pytest.raises(DataError, match="make it again"):
        client_data(data, k_class_partition(larger, 10, 20, 2, seed=0), 0)
    train_only = k_class_partition({"train": data.train.labels}, 10, 20, 2, seed=0)
    with pytest.raises(DataError, match="no split 'validation'"):
        client_data(data, train_only, 0)
