"""A network in two parts: what travels, what stays, and one update of both."""

import numpy as np
import pytest
import torch
from torch import nn

from pfedgp_core.config import Settings
from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.methods.split_network import SplitNetwork
from pfedgp_core.wire.names import OK, PERSONAL

LAYERS = ("0.weight", "0.bias", "2.weight", "2.bias")
DATA = TensorSplit(torch.tensor([[1.0, 2.0], [0.5, -1.0]]), torch.tensor([0, 2]))
BATCHES = [torch.tensor([0, 1]), torch.tensor([1])]


def split(*own: str, dtype: torch.dtype = torch.float32) -> SplitNetwork:
    network = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 3)).to(dtype)
    with torch.no_grad():
        for i, parameter in enumerate(network.parameters()):
            parameter.copy_(torch.arange(parameter.numel()).view_as(parameter) / 10 - 0.1 * i)
    return SplitNetwork(network, own, dtype)


def updated(*own: str):
    parts = split(*own)
    return parts.update(*parts.vectors(), DATA, BATCHES, Settings())


def test_shared_layers_are_all_others():
    assert tuple(split("0.bias", "2.weight").shared) == ("0.weight", "2.bias")


def test_own_layers_come_in_the_order_of_the_network():
    assert tuple(split("2.weight", "0.bias").own) == ("0.bias", "2.weight")


def test_unknown_layer_is_named():
    with pytest.raises(ConfigError, match=r"no layer '1\.weight'; name some of 0\.weight"):
        split("1.weight")


def test_vectors_load_to_the_same_values():
    parts = split("0.bias")
    shared, own = parts.vectors()
    parts.load(shared + 1, own + 2)
    np.testing.assert_array_equal(np.concatenate(parts.vectors()), np.concatenate([shared + 1, own + 2]))


def test_vectors_have_the_precision_asked_for():
    assert {vector.dtype for vector in split("0.bias", dtype=torch.float64).vectors()} == {np.dtype("float64")}


def test_own_vector_of_another_length_is_refused():
    parts = split("0.bias")
    with pytest.raises(DataError, match="This client's own state has 5 values where this model has 4"):
        parts.load(parts.vectors()[0], np.zeros(5))


@pytest.mark.parametrize("own", [(), ("0.weight",), ("2.weight", "2.bias"), LAYERS])
def test_split_does_not_change_the_training(own):
    whole, parts = split(), split(*own)
    whole.update(*whole.vectors(), DATA, BATCHES, Settings())
    parts.update(*parts.vectors(), DATA, BATCHES, Settings())
    for name, tensor in (parts.shared | parts.own).items():
        assert tensor.equal(whole.shared[name])


def test_update_starts_from_the_vectors_and_a_fresh_optimiser():
    parts = split("0.bias")
    start = parts.vectors()
    first, second = (parts.update(*start, DATA, BATCHES, Settings()) for _ in range(2))
    np.testing.assert_array_equal(first.upload, second.upload)


def test_upload_and_keep_are_the_two_parts():
    update = updated("0.bias")
    assert (len(update.upload), len(update.keep)) == (23, 4)


def test_nothing_is_uploaded_where_nothing_is_shared():
    assert updated(*LAYERS).upload is None


def test_nothing_is_kept_where_nothing_is_personal():
    assert updated().keep is None


@pytest.mark.parametrize(("own", "status"), [((), OK), (LAYERS, PERSONAL)])
def test_status_says_whether_there_is_an_upload(own, status):
    assert updated(*own).result.status == status


def test_update_without_a_step_leaves_nothing():
    parts = split("0.bias")
    update = parts.update(*parts.vectors(), DATA, [], Settings())
    assert (update.upload, update.keep, update.result.status) == (None, None, "no-step")
